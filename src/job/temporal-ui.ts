import { quoted } from './search-attributes';
import type { ConversionJobInput, ConversionParameters } from './types';

/** Path of a workflow's page in the Temporal UI; of its latest run when `runId` is absent. */
export function workflowPath(namespace: string, workflowId: string, runId?: string): string {
  return inNamespace(namespace, `workflows/${encode(workflowId)}${runId === undefined ? '' : `/${encode(runId)}`}`);
}

export function batchJobsPath(namespace: string, batch: string, condition = ''): string {
  return inNamespace(namespace, `workflows?query=${encode(`${jobsOfBatch(batch)}${condition}`)}`);
}

/** Condition of a visibility query that also works in a namespace without our search attributes. */
export function jobsOfBatch(batch: string): string {
  return `ParentWorkflowId = ${quoted(batch)}`;
}

function inNamespace(namespace: string, rest: string): string {
  return `/namespaces/${encode(namespace)}/${rest}`;
}

/** A lone surrogate, possible in a file name, can't be encoded; a closing parenthesis would end a Markdown link. */
function encode(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd')).replace(/[()]/g, (sign) =>
    sign === '(' ? '%28' : '%29',
  );
}

export interface TemporalUi {
  /** Base URL, `http:` or `https:`, including the UI's path prefix. */
  url: string;
  namespace: string;
}

/** Link to a workflow's page; to its latest run if `runId` is absent. */
export function workflowLink({ url, namespace }: TemporalUi, workflowId: string, runId?: string): string {
  return under(url, workflowPath(namespace, workflowId, runId));
}

export function jobsLink({ url, namespace }: TemporalUi, batch: string): string {
  return under(url, batchJobsPath(namespace, batch));
}

/** Only web addresses may become links: anything else could be a script. */
export function isWebAddress(url: string): boolean {
  return URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol);
}

function under(url: string, path: string): string {
  const base = new URL(url);
  return `${base.origin}${base.pathname.replace(/\/+$/, '')}${path}`;
}

/* A workflow's request in markdown, shown under "Details" in the UI; it never changes, unlike the current details. */

export function jobDetails(job: ConversionJobInput): string {
  const { app, source, input, output, parameters, destination, mode } = job;
  const to = parameters ? `${code(output)} with ${code(shownParameters(parameters))}` : code(output);
  const from = 'uri' in source ? code(source.uri) : `the upload or task ${code(source.connector)}`;
  return list({
    From: input === undefined ? from : `${from}, read as ${code(input)}`,
    To: destination === undefined ? `${to}, left at the service` : `${to} at ${code(destination)}`,
    App: code(app),
    ...(mode === 'sync' && { Mode: 'the answer to the submit is the result' }),
  });
}

function shownParameters(parameters: ConversionParameters): string {
  return Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

/** A Markdown list of names and values. */
export function list(rows: Record<string, string>): string {
  return Object.entries(rows)
    .map(([name, text]) => `- **${name}**: ${text}`)
    .join('\n');
}

/** Inline code in Markdown; the text may contain backticks. */
export function code(text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return longest === 0 ? `${fence}${text}${fence}` : `${fence} ${text} ${fence}`;
}
