/** Path of a workflow's page in the Temporal UI; of its latest run when `runId` is absent. */
export function workflowPath(namespace: string, workflowId: string, runId?: string): string {
  return inNamespace(namespace, `workflows/${encode(workflowId)}${runId === undefined ? '' : `/${encode(runId)}`}`);
}

function listPath(namespace: string, query: string): string {
  return inNamespace(namespace, `workflows?query=${encode(query)}`);
}

/** The list of a batch's jobs, found by their id prefix. */
export function batchJobsPath(namespace: string, batch: string, condition = ''): string {
  // Visibility queries escape quotes with a backslash.
  const prefix = `${batch}/`.replace(/[\\"]/g, '\\$&');
  return listPath(namespace, `WorkflowId STARTS_WITH "${prefix}"${condition}`);
}

function inNamespace(namespace: string, rest: string): string {
  return `/namespaces/${encode(namespace)}/${rest}`;
}

/** A lone surrogate, possible in a file name, can't be encoded; a closing parenthesis would end a markdown link. */
function encode(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd')).replace(/[()]/g, (sign) =>
    sign === '(' ? '%28' : '%29',
  );
}
