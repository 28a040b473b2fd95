/** The Temporal UI, and the namespace of the batch. */
export interface TemporalUi {
  /** Base URL, `http:` or `https:`, with the path that the UI is served under. */
  url: string;
  namespace: string;
}

/** The page of a workflow; of its latest run when `runId` is absent. */
export function workflowLink(ui: TemporalUi, workflowId: string, runId?: string): string {
  return under(ui, `workflows/${encode(workflowId)}${runId === undefined ? '' : `/${encode(runId)}`}`);
}

/** The list of a batch's jobs. */
export function jobsLink(ui: TemporalUi, batch: string): string {
  // In the query's language a quote is escaped by a backslash.
  const prefix = `${batch}/`.replace(/[\\"]/g, '\\$&');
  return under(ui, `workflows?query=${encode(`WorkflowId STARTS_WITH "${prefix}"`)}`);
}

/** Anything but a web address becomes no link: it could be a script. */
export function isWebAddress(url: string): boolean {
  return URL.canParse(url) && ['http:', 'https:'].includes(new URL(url).protocol);
}

function under({ url, namespace }: TemporalUi, rest: string): string {
  const base = new URL(url);
  const path = base.pathname.replace(/\/+$/, '');
  return `${base.origin}${path}/namespaces/${encode(namespace)}/${rest}`;
}

/** A lone surrogate, which a file's name may hold, has no encoding. */
function encode(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'));
}
