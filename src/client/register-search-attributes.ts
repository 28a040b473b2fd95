import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { isGrpcServiceError } from '@temporalio/client';
import { searchAttributeNames, searchAttributeTypes } from '../shared/search-attributes';
import { presentSearchAttributes } from './search-attribute-support';

/** Names of the attributes, by what became of them. */
export interface RegisteredSearchAttributes {
  present: string[];
  added: string[];
}

/** Why the attributes could not be registered. */
export type RegistrationProblem =
  /** The server lets this client neither see nor add them; somebody with more rights has to. */
  | 'refused'
  /** One of the names is taken by an attribute of another type. */
  | 'wrongType'
  | 'namespaceUnknown'
  /** The server says why in its own words: too many attributes, for example. */
  | 'failed';

export class SearchAttributeRegistrationError extends Error {
  override readonly name = 'SearchAttributeRegistrationError';
  readonly problem: RegistrationProblem;
  /** Not registered, as far as is known. */
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

/** `temporal.api.enums.v1.IndexedValueType`. */
const typeNames = ['Unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];
const usableWithinMs = 30_000;
const checkIntervalMs = 100;
/** gRPC's UNIMPLEMENTED, PERMISSION_DENIED and UNAUTHENTICATED. */
const refusals = [12, 7, 16];
const notFound = 5;
const alreadyExists = 6;

/**
 * Which attributes the client's namespace has.
 * @throws SearchAttributeRegistrationError `wrongType`, `namespaceUnknown`, or when the server does not tell.
 */
export async function findSearchAttributes(client: Client): Promise<{ present: string[]; missing: string[] }> {
  const { connection } = client;
  if (!('operatorService' in connection)) throw new TypeError('a connection without an operator service');
  const { namespace } = client.options;
  const names = Object.keys(searchAttributeTypes);
  const known = await asked(() => connection.operatorService.listSearchAttributes({ namespace }), { namespace }).catch(
    async (error: unknown) => {
      // Who may not look at the list may still use what is on it.
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
 * Registers what jobs are listed by, in the client's namespace. Repeat-safe: what is there stays as it is. Resolves when queries accept them.
 * @throws SearchAttributeRegistrationError
 */
export async function registerSearchAttributes(client: Client): Promise<RegisteredSearchAttributes> {
  const { connection } = client;
  if (!('operatorService' in connection)) throw new TypeError('a connection without an operator service');
  const { namespace } = client.options;
  const { present, missing: added } = await findSearchAttributes(client);
  if (added.length === 0) return { present, added };
  const types = added.map((name) => [name, typeNames.indexOf(searchAttributeTypes[name] ?? '')] as const);
  await asked(
    () =>
      connection.operatorService
        .addSearchAttributes({ namespace, searchAttributes: Object.fromEntries(types) })
        .catch((error: unknown) => {
          // Somebody else was quicker.
          if (!isGrpcServiceError(error) || (error.code as number) !== alreadyExists) throw error;
        }),
    { namespace, missing: added },
  );
  // The server's own caches learn of them a moment later; a job that sets them would be refused until then.
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
