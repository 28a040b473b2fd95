import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client, Connection, NexusOperationFailureError } from '@temporalio/client';
import { conversionService } from 'temporal-file-conversion/nexus';

/** `node start.js ENDPOINT APP FILE FORMAT KEY`: a program without a worker and without a workflow. Prints the name of the result beside FILE. */
async function main([endpoint = '', app = '', file = '', output = '', key = '']: string[]): Promise<void> {
  const { TEMPORAL_ADDRESS: address = '127.0.0.1:7233', TEMPORAL_NAMESPACE: namespace = 'default' } = process.env;
  const connection = await Connection.connect({ address });
  const conversion = new Client({ connection, namespace }).nexus.createServiceClient({
    endpoint,
    service: conversionService,
  });
  const source = { uri: pathToFileURL(file).href };
  const destination = `${pathToFileURL(path.dirname(file)).href}/`;
  try {
    const result = await conversion.executeOperation(
      'convert',
      { key, app, source, output, destination },
      // Killed and run again, it waits for the operation that it started; after that, the key finds the job.
      { id: key, idConflictPolicy: 'USE_EXISTING' },
    );
    console.log(result.output?.name);
  } catch (error) {
    if (!(error instanceof NexusOperationFailureError)) throw error;
    console.error(error.cause.message); // what failed, and what to do
    process.exitCode = 1;
  } finally {
    await connection.close();
  }
}

void main(process.argv.slice(2));
