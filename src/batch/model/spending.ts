import type { EarlierRuns } from '../../job/charge';

type Charged = Partial<Pick<EarlierRuns, 'charge' | 'taskId' | 'possiblyChargedExtra'>>;
interface Spent extends Charged {
  vcredits?: number | undefined;
  requests?: number | undefined;
}

/** What conversions cost at most: what the service told, and for each open submit as much as the dearest of them. */
export class Spending {
  private constructor(private readonly sum: CarriedSpending) {}

  static from(carried: CarriedSpending = { told: 0, open: 0, dearest: 0, charged: 0, free: 0 }): Spending {
    return new Spending({ ...carried });
  }

  /** @param before what earlier runs left of the item: their open submits are counted with them. */
  add({ vcredits = 0, requests, ...left }: Spent, before: { earlier?: Charged; kept?: Charged; done?: Charged }): void {
    const { sum } = this;
    const earlier = before.earlier ?? before.kept ?? before.done;
    const isOther = earlier?.charge !== 'yes' || left.taskId !== earlier.taskId;
    // A task that the service has lost is open from now on, and an earlier run was charged for it.
    const lost = isOther && earlier?.charge === 'yes' ? 1 : 0;
    // A job that has sent nothing has found it done, with its open submits.
    const isFound = left.charge === 'yes' && requests === 0;
    const opened = isFound ? 0 : Math.max(openSubmits(left) - openSubmits(earlier) - lost, 0);
    // What an earlier run was charged for is fetched, or kept.
    const isCharged = left.charge === 'yes' && isOther && !isFound;
    sum.told += vcredits;
    sum.dearest = Math.max(sum.dearest, vcredits);
    sum.open += opened;
    if (isCharged) sum.charged += 1;
    else if (opened === 0) sum.free += 1;
  }

  /** What a bookkeeper asks of a run. */
  get receipt(): Receipt {
    const { told, open, dearest, charged, free } = this.sum;
    const isPriced = open === 0 || charged > 0;
    return {
      charged: { conversions: charged, vcredits: told },
      possiblyCharged: { conversions: open, ...(isPriced && { vcreditsAtMost: open * dearest }) },
      notCharged: { files: free },
    };
  }

  /** vCredits. While no price is told, an open submit counts as one: where none is ever told, a limit has to hold too. */
  get most(): number {
    const { told, open, dearest, charged } = this.sum;
    return told + open * (charged > 0 ? dearest : Math.max(dearest, 1));
  }

  carry(): CarriedSpending {
    return this.sum;
  }
}

export interface CarriedSpending {
  /** vCredits. */
  told: number;
  /** Number of submits. */
  open: number;
  /** vCredits of one conversion. */
  dearest: number;
  /** Number of conversions. */
  charged: number;
  /** Number of files of which nothing was charged, and nothing may have been. */
  free: number;
}

/** What one run was charged, apart from what earlier runs were. */
export interface Receipt {
  charged: { conversions: number; vcredits: number };
  /** Submits of which nobody knows whether they ran; each at most as dear as the dearest of the run. Absent: no price is known. */
  possiblyCharged: { conversions: number; vcreditsAtMost?: number };
  notCharged: { files: number };
}

function openSubmits({ charge, possiblyChargedExtra = 0 }: Charged = {}): number {
  return possiblyChargedExtra + (charge === 'maybe' ? 1 : 0);
}
