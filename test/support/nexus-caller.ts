import { randomUUID } from 'node:crypto';
import { Client, WorkflowFailedError, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { conversionService } from '../../src/nexus';
import { installQuietRuntime, inThisThread } from './conversion-worker';
import { newNamespace } from './namespace';
import { testTemporalAddress } from './temporal';

export type ConversionOperation = keyof (typeof conversionService)['operations'];

/** A caller in a separate namespace that reaches a conversion worker only through a Nexus endpoint. */
export interface NexusCaller {
  client: Client;
  endpoint: string;
  start(operation: ConversionOperation, input: unknown): Promise<WorkflowHandle>;
  call(operation: ConversionOperation, input: unknown): Promise<unknown>;
  /** Returns the errors of a failing call, outermost first, without the failure of the caller's own workflow. */
  refusal(operation: ConversionOperation, input: unknown): Promise<Error[]>;
  close(): Promise<void>;
}

/** Creates an endpoint for the worker of a task queue. Returns its name. */
export async function newEndpoint(client: Client, target: { namespace: string; taskQueue: string }): Promise<string> {
  const { connection } = client;
  if (!('operatorService' in connection)) throw new TypeError('a connection without an operator service');
  const name = `conversion-${randomUUID()}`;
  await connection.operatorService.createNexusEndpoint({ spec: { name, target: { worker: target } } });
  return name;
}

export async function startNexusCaller(
  temporal: Client,
  { taskQueue, namespace = 'default' }: { taskQueue: string; namespace?: string },
): Promise<NexusCaller> {
  installQuietRuntime();
  const endpoint = await newEndpoint(temporal, { namespace, taskQueue });
  const client = new Client({ connection: temporal.connection, namespace: await newNamespace(temporal) });
  const connection = await NativeConnection.connect({ address: testTemporalAddress() });
  const worker = await inThisThread(() =>
    Worker.create({
      connection,
      namespace: client.options.namespace,
      taskQueue: 'callers',
      workflowsPath: require.resolve('./nexus-caller-workflows'),
    }),
  );
  const running = worker.run();
  const start: NexusCaller['start'] = (operation, input) =>
    client.workflow.start('callConversion', {
      taskQueue: 'callers',
      workflowId: randomUUID(),
      args: [endpoint, operation, input],
    });
  const call: NexusCaller['call'] = async (operation, input) => (await start(operation, input)).result();
  return {
    client,
    endpoint,
    start,
    call,
    async refusal(operation, input) {
      try {
        throw new Error(`not refused: ${JSON.stringify(await call(operation, input))}`);
      } catch (error) {
        if (!(error instanceof WorkflowFailedError)) throw error;
        return chainOf(error.cause);
      }
    },
    async close() {
      worker.shutdown();
      await running;
      await connection.close();
    },
  };
}

function chainOf(error: unknown): Error[] {
  return error instanceof Error ? [error, ...chainOf(error.cause)] : [];
}
