import type { z } from 'zod';
import type { Account } from '../accounts/account';
import { isVerifiedCallback, requireVerifiedCallback } from '../callbacks/callback-address';
import type { ServiceLimits } from '../shared/limits';
import { TaskError } from '../shared/task-error';
import { type AnyTaskData, parseRequestData, WrongData } from '../tasks/request-data';
import type { Caller, TaskRequest } from './endpoints/endpoint';

/**
 * A request that is refused although its data could be read. It is a task too, completed with an error, and the answer has what its
 * `include` asks for.
 */
export class RefusedTask extends TaskError {
  constructor(
    error: TaskError,
    readonly request: TaskRequest<AnyTaskData>,
  ) {
    super(error.code, { message: error.message });
  }
}

/** Parses and checks the field `data`. */
export function readTaskRequest<Schema extends z.ZodType<AnyTaskData>>(
  field: string,
  { app, endpoint, origin, schema, limits }: Caller & { schema: Schema; limits: ServiceLimits },
): TaskRequest<z.output<Schema>> {
  const caller = { app, endpoint, origin, payload: field };
  let known: AnyTaskData | undefined;
  try {
    const data = (known = parseRequestData(field, schema, limits));
    requireSameApp(app, data.app);
    return { ...caller, data };
  } catch (error) {
    if (error instanceof WrongData) known = error.answering;
    if (!known || !(error instanceof TaskError)) throw error;
    const { callback, ...others } = known;
    throw new RefusedTask(error, { ...caller, data: isVerifiedCallback(callback, app) ? known : others });
  }
}

/** Runs a task whose data is valid; a refusal becomes a RefusedTask. */
export async function runTask<Result>(
  asked: TaskRequest<AnyTaskData>,
  run: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    requireVerifiedCallback(asked.data.callback, asked.app);
    return await run();
  } catch (error) {
    throw error instanceof TaskError ? new RefusedTask(error, asked) : error;
  }
}

/** Throws unless the data key `app` names the app that the token belongs to. */
function requireSameApp(account: Account, appId: string): void {
  if (appId.toLowerCase() !== account.appId.toLowerCase()) throw new TaskError('INVALID_CREDENTIAL');
}
