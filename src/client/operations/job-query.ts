import { conversionJobType } from '../../shared/names';
import { possiblyChargedTwiceCode, searchAttributes, type ListedStatus } from '../../shared/search-attributes';

export interface JobFilter {
  status?: ListedStatus | undefined;
  app?: string | undefined;
  /** Error code, whether or not the job is marked `POSSIBLY_CHARGED_TWICE`, a value that finds all marked jobs. */
  code?: string | undefined;
  batch?: string | undefined;
  tag?: string | undefined;
  /** Started or ended since then. */
  since?: Date | undefined;
}

/** A filter needs a search attribute that the namespace lacks. */
export class SearchAttributesMissingError extends Error {
  override readonly name = 'SearchAttributesMissingError';
  constructor(readonly filters: readonly string[]) {
    super(`the namespace has no search attributes to list jobs by ${filters.join(', ')}`);
  }
}

const executionStatus: Readonly<Record<ListedStatus, string>> = {
  running: "ExecutionStatus = 'Running'",
  awaitingCredits: "ExecutionStatus = 'Running'",
  completed: "ExecutionStatus = 'Completed'",
  failed: "ExecutionStatus IN ('Failed', 'Terminated', 'TimedOut')",
  cancelled: "ExecutionStatus = 'Canceled'",
};

/**
 * @param present names of the search attributes that the namespace has
 * @throws SearchAttributesMissingError
 */
export function toJobQuery({ status, app, code, batch, tag, since }: JobFilter, present: ReadonlySet<string>): string {
  const names = searchAttributes;
  const needed = [
    { filter: 'app', value: app, by: names.app },
    { filter: 'code', value: code, by: names.errorCode },
    { filter: 'tag', value: tag, by: names.tags },
    { filter: 'status awaitingCredits', value: status === 'awaitingCredits' ? status : undefined, by: names.status },
  ];
  const missing = needed.filter(({ value, by }) => value !== undefined && !present.has(by.name));
  if (missing.length > 0) throw new SearchAttributesMissingError(missing.map(({ filter }) => filter));
  const conditions = [`WorkflowType = '${conversionJobType}'`];
  if (status !== undefined) conditions.push(executionStatus[status]);
  if (status === 'awaitingCredits') conditions.push(`${names.status.name} = 'awaitingCredits'`);
  if (status === 'running' && present.has(names.status.name)) {
    conditions.push(`(${names.status.name} != 'awaitingCredits' OR ${names.status.name} IS NULL)`);
  }
  if (app !== undefined) conditions.push(`${names.app.name} = ${quoted(app)}`);
  if (code === possiblyChargedTwiceCode) {
    conditions.push(`${names.errorCode.name} STARTS_WITH '${possiblyChargedTwiceCode}'`);
  } else if (code !== undefined) {
    const codes = [code, `${possiblyChargedTwiceCode}+${code}`].map(quoted);
    conditions.push(`${names.errorCode.name} IN (${codes.join(', ')})`);
  }
  if (batch !== undefined) {
    const byId = `WorkflowId STARTS_WITH ${quoted(`${batch}/`)}`;
    conditions.push(present.has(names.batchId.name) ? `(${names.batchId.name} = ${quoted(batch)} OR ${byId})` : byId);
  }
  if (tag !== undefined) conditions.push(`${names.tags.name} = ${quoted(tag)}`);
  if (since !== undefined) {
    const time = `'${since.toISOString()}'`;
    conditions.push(`(StartTime >= ${time} OR CloseTime >= ${time})`);
  }
  return conditions.join(' AND ');
}

export function quoted(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
}
