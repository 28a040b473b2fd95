import type { EarlierRuns } from '../../job/charge';

type Charged = Partial<Pick<EarlierRuns, 'charge' | 'taskId' | 'possiblyChargedExtra'>>;
interface Spent extends Charged {
  status?: string;
  vcredits?: number | undefined;
  requests?: number | undefined;
}

/** Upper bound of what conversions cost: the reported prices, plus the highest of them for each open submit. */
export class Spending {
  private constructor(private readonly sum: CarriedSpending) {}

  static from(
    carried: CarriedSpending = { reported: 0, open: 0, dearest: 0, charged: 0, suspect: 0, free: 0 },
  ): Spending {
    return new Spending({ ...carried });
  }

  /**
   * @param before what earlier runs left of the item. Their open submits count there, not here.
   */
  add({ vcredits = 0, requests, ...left }: Spent, before: { earlier?: Charged; kept?: Charged; done?: Charged }): void {
    const { sum } = this;
    const earlier = before.earlier ?? before.kept ?? before.done;
    const isOther = earlier?.charge !== 'yes' || left.taskId !== earlier.taskId;
    // A task of an earlier run that the service has lost now counts as open, but that run was already charged for it.
    const lost = isOther && earlier?.charge === 'yes' ? 1 : 0;
    // A job that sent no request has found an earlier result, whose open submits are counted already.
    const isFound = left.charge === 'yes' && requests === 0;
    const opened = isFound ? 0 : Math.max(openSubmits(left) - openSubmits(earlier) - lost, 0);
    // A task that an earlier run was charged for costs nothing again.
    const isCharged = left.charge === 'yes' && isOther && !isFound;
    sum.reported += vcredits;
    sum.dearest = Math.max(sum.dearest, vcredits);
    sum.open += opened;
    if (isCharged) sum.charged += 1;
    else if (opened === 0) sum.free += 1;
    if (isCharged && left.status === 'suspect') sum.suspect += 1;
  }

  /** The charges of a run, for bookkeeping. */
  get receipt(): Receipt {
    const { reported, open, dearest, charged, suspect, free } = this.sum;
    const isPriced = open === 0 || charged > 0;
    return {
      charged: { conversions: charged, vcredits: reported, ...(suspect > 0 && { suspect }) },
      possiblyCharged: { conversions: open, ...(isPriced && { vcreditsAtMost: open * dearest }) },
      notCharged: { files: free },
    };
  }

  /** vCredits. While no price is known, an open submit counts as 1, so that a limit holds even if prices are never reported. */
  get upperBound(): number {
    const { reported, open, dearest, charged } = this.sum;
    return reported + open * (charged > 0 ? dearest : Math.max(dearest, 1));
  }

  carry(): CarriedSpending {
    return this.sum;
  }
}

export interface CarriedSpending {
  /** vCredits. */
  reported: number;
  /** Number of submits. */
  open: number;
  /** vCredits of one conversion. */
  dearest: number;
  /** Number of conversions. */
  charged: number;
  /** How many of them have suspect results. */
  suspect: number;
  /** Number of files without a charge or a possible charge. */
  free: number;
}

/** What one run was charged, without the charges of earlier runs. */
export interface Receipt {
  charged: {
    conversions: number;
    vcredits: number;
    /** Conversions among them whose results are suspect. Absent: none. */
    suspect?: number;
  };
  /** Submits with unknown outcome, each at most at the run's highest price. `vcreditsAtMost` is absent if no price is known. */
  possiblyCharged: { conversions: number; vcreditsAtMost?: number };
  notCharged: { files: number };
}

function openSubmits({ charge, possiblyChargedExtra = 0 }: Charged = {}): number {
  return possiblyChargedExtra + (charge === 'maybe' ? 1 : 0);
}
