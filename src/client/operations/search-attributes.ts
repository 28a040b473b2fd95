import { setTimeout as sleep } from 'node:timers/promises';
import { isGrpcServiceError, type Client } from '@temporalio/client';
import { searchAttributeNames, searchAttributeTypes } from '../../shared/search-attributes';

/** Names of the attributes, by outcome. */
export interface RegisteredSearchAttributes {
  present: string[];
  added: string[];
}

type RegistrationProblem =
  /** The client may neither list nor add them; this needs an administrator. */
  | 'refused'
  /** A name is already used for an attribute of another type. */
  | 'wrongType'
  | 'namespaceUnknown'
  /** Any other error of the server: too many attributes, for example. */
  | 'failed';

export class SearchAttributeRegistrationError extends Error {
  override readonly name = 'SearchAttributeRegistrationError';
  readonly problem: RegistrationProblem;
  /** Not registered, as far as known. */
  readonly missing: readonly string[];

  constructor(
    message: string,
    options: { problem: RegistrationProblem; missing?: readonly string[] | undefined; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.problem = options.problem;
    this.missing = options.missing ?? Object.keys(searchAttributeTypes);
  }
}

/** Indexed by `temporal.api.enums.v1.IndexedValueType`. */
const typeNames = ['Unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];
const usableWithinMs = 30_000;
const checkIntervalMs = 100;
/** gRPC UNIMPLEMENTED, PERMISSION_DENIED and UNAUTHENTICATED. */
const refusals = [12, 7, 16];
const notFound = 5;
const alreadyExists = 6;

/**
 * The attributes that the client's namespace has and lacks.
 * @throws SearchAttributeRegistrationError `wrongType`, `namespaceUnknown`, or when the server does not tell.
 */
export async function findSearchAttributes(client: Client): Promise<{ present: string[]; missing: string[] }> {
  const { connection } = client;
  if (!('operatorService' in connection)) throw new TypeError('a connection without an operator service');
  const { namespace } = client.options;
  const names = Object.keys(searchAttributeTypes);
  const known = await asked(() => connection.operatorService.listSearchAttributes({ namespace }), { namespace }).catch(
    async (error: unknown) => {
      // A client without the right to list attributes may still use them.
      if (await areUsable(client)) return undefined;
      throw error;
    },
  );
  if (!known) return { present: names, missing: [] };
  const { customAttributes } = known;
  for (const name of names) {
    const type = customAttributes[name];
    const found = type == null ? undefined : (typeNames[type] ?? String(type));
    if (found === undefined || found === searchAttributeTypes[name]) continue;
    throw new SearchAttributeRegistrationError(
      `Search attribute ${name} of namespace ${namespace} has type ${found}, not ${searchAttributeTypes[name] ?? ''}.`,
      { problem: 'wrongType', missing: [] },
    );
  }
  const isPresent = (name: string) => Object.hasOwn(customAttributes, name);
  return { present: names.filter(isPresent), missing: names.filter((name) => !isPresent(name)) };
}

/**
 * Registers the search attributes in the client's namespace; resolves when queries accept them. Idempotent.
 * @throws SearchAttributeRegistrationError
 */
export async function registerSearchAttributes(client: Client): Promise<RegisteredSearchAttributes> {
  const { connection } = client;
  if (!('operatorService' in connection)) throw new TypeError('a connection without an operator service');
  const { namespace } = client.options;
  const { present, missing: added } = await findSearchAttributes(client);
  if (added.length === 0) return { present, added };
  // One by one: a namespace with room for some of them gets those.
  const refused = new Map<string, unknown>();
  for (const name of added) {
    const searchAttributes = { [name]: typeNames.indexOf(searchAttributeTypes[name] ?? '') };
    try {
      await connection.operatorService.addSearchAttributes({ namespace, searchAttributes });
    } catch (error) {
      // Another client registered it concurrently.
      if (!isGrpcServiceError(error) || (error.code as number) !== alreadyExists) refused.set(name, error);
    }
  }
  for (const error of refused.values()) {
    await asked(() => Promise.reject(error as Error), { namespace, missing: [...refused.keys()] });
  }
  // The server's caches lag behind, and until then it rejects jobs that set them.
  const usableBy = Date.now() + usableWithinMs;
  while (!(await areUsable(client)) && Date.now() < usableBy) await sleep(checkIntervalMs);
  return { present, added };
}

async function areUsable(client: Client): Promise<boolean> {
  const present = await presentSearchAttributes(client).catch(() => undefined);
  return present?.size === searchAttributeNames.length;
}

async function asked<T>(
  ask: () => Promise<T>,
  { namespace, missing }: { namespace: string; missing?: readonly string[] },
): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!isGrpcServiceError(error)) throw error;
    const code: number = error.code;
    const reason = error.details === '' ? error.message : error.details;
    if (code === notFound) {
      const message = `Temporal has no namespace ${namespace}.`;
      throw new SearchAttributeRegistrationError(message, { problem: 'namespaceUnknown', missing, cause: error });
    }
    const problem = refusals.includes(code) ? 'refused' : 'failed';
    const message = `Temporal does not register the search attributes of namespace ${namespace}: ${reason}`;
    throw new SearchAttributeRegistrationError(message, { problem, missing, cause: error });
  }
}

/** gRPC INVALID_ARGUMENT, and UNIMPLEMENTED of servers without visibility, such as the time-skipping test server. */
const saysNo: readonly number[] = [3, 12];
const timeoutMs = 10_000;

/**
 * The search attributes of this library that the client's namespace accepts, which takes up to a minute after their
 * registration. Jobs also run without them, but are harder to find. Rejects when the server does not tell.
 */
export async function presentSearchAttributes(client: Client): Promise<ReadonlySet<string>> {
  if (await isTaken(client, searchAttributeNames)) return new Set(searchAttributeNames);
  const taken = await Promise.all(searchAttributeNames.map((name) => isTaken(client, [name])));
  return new Set(searchAttributeNames.filter((_, index) => taken[index]));
}

/** The server rejects a query with an unregistered attribute. Listing attributes may need administrator rights. */
async function isTaken(client: Client, names: readonly string[]): Promise<boolean> {
  const areNull = names.map((name) => `${name} IS NULL`).join(' AND ');
  try {
    await client.withDeadline(Date.now() + timeoutMs, () =>
      client.workflow.count(`WorkflowId = 'search-attribute-support' AND ${areNull}`),
    );
    return true;
  } catch (error) {
    const { cause } = error as { cause?: unknown };
    if (isGrpcServiceError(cause) && saysNo.includes(cause.code)) return false;
    throw error;
  }
}
