import type { EarlierRuns } from './charge';

type Charged = Partial<Pick<EarlierRuns, 'charge' | 'possiblyChargedExtra'>>;

/** What conversions cost at most: what the service told, and for each open submit as much as the dearest of them. */
export class Spending {
  private constructor(private readonly sum: CarriedSpending) {}

  static from(carried: CarriedSpending = { told: 0, open: 0, dearest: 0 }): Spending {
    return new Spending({ ...carried });
  }

  /** @param earlier what earlier runs left: their open submits are counted with them. */
  add({ vcredits = 0, ...left }: Charged & { vcredits?: number | undefined }, earlier: Charged | undefined): void {
    const { sum } = this;
    sum.told += vcredits;
    sum.dearest = Math.max(sum.dearest, vcredits);
    sum.open += Math.max(openSubmits(left) - openSubmits(earlier), 0);
  }

  /** vCredits. Without any price told, 0. */
  get most(): number {
    return this.sum.told + this.sum.open * this.sum.dearest;
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
}

function openSubmits({ charge, possiblyChargedExtra = 0 }: Charged = {}): number {
  return possiblyChargedExtra + (charge === 'maybe' ? 1 : 0);
}
