import type { ConversionBatchInput } from './batch';
import type { ConversionJobInput } from './job';

/* A workflow's request in markdown, shown under "Details" in the UI; it never changes, unlike the current details. */

export function jobDetails({ app, source, output, input, destination, mode }: ConversionJobInput): string {
  const from = 'uri' in source ? code(source.uri) : `the upload or task ${code(source.connector)}`;
  return list({
    From: input === undefined ? from : `${from}, read as ${code(input)}`,
    To: destination === undefined ? `${code(output)}, left at the service` : `${code(output)} at ${code(destination)}`,
    App: code(app),
    ...(mode === 'sync' && { Mode: 'the answer to the submit is the result' }),
  });
}

export function batchDetails({ app, folder, items, stopAfter }: ConversionBatchInput): string {
  const limits = [
    stopAfter?.failures === undefined ? '' : `${stopAfter.failures} failures`,
    stopAfter?.percent === undefined ? '' : `${stopAfter.percent} % failed`,
  ];
  return list({
    Items: String(items),
    'Manifest and results': code(folder),
    App: code(app),
    ...(stopAfter && { 'Stops after': limits.filter(Boolean).join(' or ') }),
  });
}

function list(rows: Record<string, string>): string {
  return Object.entries(rows)
    .map(([name, text]) => `- **${name}**: ${text}`)
    .join('\n');
}

/** Inline code in markdown, also for text with backticks. */
function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${text}${fence}` : `${fence} ${text} ${fence}`;
}
