/** The page of a workflow in the Temporal UI, below the UI's own address; of its latest run when `runId` is absent. */
export function workflowPath(namespace: string, workflowId: string, runId?: string): string {
  return inNamespace(namespace, `workflows/${encode(workflowId)}${runId === undefined ? '' : `/${encode(runId)}`}`);
}

/** The list of what a query finds. */
function listPath(namespace: string, query: string): string {
  return inNamespace(namespace, `workflows?query=${encode(query)}`);
}

/** The list of a batch's jobs, which are called after it. */
export function batchJobsPath(namespace: string, batch: string, condition = ''): string {
  // In the query's language a quote is escaped by a backslash.
  const prefix = `${batch}/`.replace(/[\\"]/g, '\\$&');
  return listPath(namespace, `WorkflowId STARTS_WITH "${prefix}"${condition}`);
}

function inNamespace(namespace: string, rest: string): string {
  return `/namespaces/${encode(namespace)}/${rest}`;
}

/** A lone surrogate, which a file's name may hold, has no encoding. What is left of brackets would end a link in markdown. */
function encode(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd')).replace(/[()]/g, (sign) =>
    sign === '(' ? '%28' : '%29',
  );
}
