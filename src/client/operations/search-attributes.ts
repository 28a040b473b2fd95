import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { searchAttributeNames, searchAttributeTypes } from '../../job/search-attribute-types';
import { hasStatus, operatorOf, refusalOf } from '../../history/grpc';

export interface RegisteredSearchAttributes {
  present: string[];
  added: string[];
}

type RegistrationProblem =
  /** The client may not list or add attributes; this needs an administrator. */
  | 'refused'
  /** A name is already used for an attribute of another type. */
  | 'wrongType'
  | 'namespaceUnknown'
  /** Any other error of the server: too many attributes, for example. */
  | 'failed';

export class SearchAttributeRegistrationError extends Error {
  override readonly name = 'SearchAttributeRegistrationError';

  constructor(
    message: string,
    readonly problem: RegistrationProblem,
    /** Attributes not registered, as far as known. */
    readonly missing: readonly string[],
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Indexed by `temporal.api.enums.v1.IndexedValueType`. */
const typeNames = ['Unspecified', 'Text', 'Keyword', 'Int', 'Double', 'Bool', 'Datetime', 'KeywordList'];
const usableWithinMs = 30_000;
const checkIntervalMs = 100;

/**
 * The attributes that the client's namespace has and lacks.
 * @throws SearchAttributeRegistrationError `wrongType`, `namespaceUnknown`, or if the server does not answer the question.
 */
export async function findSearchAttributes(client: Client): Promise<{ present: string[]; missing: string[] }> {
  const { namespace } = client.options;
  const known = await operatorOf(client)
    .listSearchAttributes({ namespace })
    .catch(async (error: unknown) => {
      // A client without the right to list attributes may still use them.
      if (await areUsable(client)) return undefined;
      throw explained(error, namespace);
    });
  if (!known) return { present: [...searchAttributeNames], missing: [] };
  const { customAttributes } = known;
  for (const name of searchAttributeNames) {
    const type = customAttributes[name];
    const found = type == null ? undefined : (typeNames[type] ?? String(type));
    if (found === undefined || found === searchAttributeTypes[name]) continue;
    throw new SearchAttributeRegistrationError(
      `Search attribute ${name} of namespace ${namespace} has type ${found}, not ${searchAttributeTypes[name] ?? ''}.`,
      'wrongType',
      [],
    );
  }
  const isPresent = (name: string) => Object.hasOwn(customAttributes, name);
  const missing = searchAttributeNames.filter((name) => !isPresent(name));
  return { present: searchAttributeNames.filter(isPresent), missing };
}

/**
 * Registers the search attributes in the client's namespace; resolves when queries accept them. Idempotent.
 * @throws SearchAttributeRegistrationError
 */
export async function registerSearchAttributes(client: Client): Promise<RegisteredSearchAttributes> {
  const { namespace } = client.options;
  const { present, missing: added } = await findSearchAttributes(client);
  if (added.length === 0) return { present, added };
  // One by one, so that a namespace with room for only some of them gets those.
  const refused = new Map<string, unknown>();
  for (const name of added) {
    const searchAttributes = { [name]: typeNames.indexOf(searchAttributeTypes[name] ?? '') };
    try {
      await operatorOf(client).addSearchAttributes({ namespace, searchAttributes });
    } catch (error) {
      // Another client registered it concurrently.
      if (!hasStatus(error, 'ALREADY_EXISTS')) refused.set(name, error);
    }
  }
  for (const error of refused.values()) throw explained(error, namespace, [...refused.keys()]);
  // The server's caches lag behind, and until they catch up it rejects jobs that set the attributes.
  const usableBy = Date.now() + usableWithinMs;
  while (!(await areUsable(client)) && Date.now() < usableBy) await sleep(checkIntervalMs);
  return { present, added };
}

function areUsable(client: Client): Promise<boolean> {
  return hasSearchAttributes(client).catch(() => false);
}

function explained(error: unknown, namespace: string, missing = searchAttributeNames): unknown {
  const refusal = refusalOf(error);
  if (!refusal) return error;
  const refuse = (problem: RegistrationProblem, message: string) =>
    new SearchAttributeRegistrationError(message, problem, missing, { cause: error });
  if (refusal.status === 'NOT_FOUND') return refuse('namespaceUnknown', `Temporal has no namespace ${namespace}.`);
  const isRefused = hasStatus(error, 'UNIMPLEMENTED', 'PERMISSION_DENIED', 'UNAUTHENTICATED');
  const message = `Temporal does not register the search attributes of namespace ${namespace}: ${refusal.reason}`;
  return refuse(isRefused ? 'refused' : 'failed', message);
}

const timeoutMs = 10_000;

/**
 * Whether the client's namespace accepts all search attributes of this library, which takes up to a minute after their registration.
 * Jobs also run without them, but are harder to find. Rejects if the server's answer leaves it open.
 */
export async function hasSearchAttributes(client: Client): Promise<boolean> {
  // The server rejects a query with an unregistered attribute. Listing attributes may need administrator rights.
  const areNull = searchAttributeNames.map((name) => `${name} IS NULL`).join(' AND ');
  try {
    await client.withDeadline(Date.now() + timeoutMs, () =>
      client.workflow.count(`WorkflowId = 'search-attribute-support' AND ${areNull}`),
    );
    return true;
  } catch (error) {
    // Servers without visibility, such as the time-skipping test server, do not know the request.
    if (hasStatus(error, 'INVALID_ARGUMENT', 'UNIMPLEMENTED')) return false;
    throw error;
  }
}
