import type { ConversionBatchInput } from './types';
import { withoutSecrets } from '../../job/types';
import { code, list } from '../../job/temporal-ui';

export function batchDetails(input: ConversionBatchInput): string {
  const { app, stopAfter, maxVcredits, plan } = input;
  const limits = [
    stopAfter?.failures === undefined ? '' : `${stopAfter.failures} failures`,
    stopAfter?.percent === undefined ? '' : `${stopAfter.percent} % failed`,
  ];
  return list({
    Converts: batchSummary(input),
    ...(plan?.out !== undefined && { Results: code(plan.out) }),
    ...(plan && { 'Ledger, runs and reports': code(plan.folder) }),
    App: code(app),
    ...(maxVcredits !== undefined && { 'vCredits at most': code(String(maxVcredits)) }),
    ...(stopAfter && { 'Stops after': limits.filter(Boolean).join(' or ') }),
  });
}

/** `letters, scans → pdf`, `invoices.csv`, `12 items`. */
export function batchSummary({ plan, items = [] }: ConversionBatchInput): string {
  if (!plan) return `${items.length} item${items.length === 1 ? '' : 's'}`;
  const { what } = plan;
  if (what === 'last') return 'what the last run has not converted';
  if ('manifest' in what) return what.name;
  const [first = what.filesFrom ?? '', second] = what.sources;
  const more = what.sources.length > 2 ? ', …' : '';
  const named = [first, second].filter((each) => each !== undefined).map(withoutSecrets);
  return `${named.join(', ')}${more} → ${typeof what.to === 'string' ? what.to : what.to.join(', ')}`;
}
