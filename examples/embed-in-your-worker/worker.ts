import { NativeConnection, Worker } from '@temporalio/worker';
import { FileConversionPlugin } from 'temporal-file-conversion';

async function main(): Promise<void> {
  const { TEMPORAL_ADDRESS, CONVERSION_URL, CONVERSION_APP_ID, CONVERSION_TOKEN } = process.env;
  const connection = await NativeConnection.connect({ address: TEMPORAL_ADDRESS ?? '127.0.0.1:7233' });
  const conversion = new FileConversionPlugin({
    apps: {
      invoices: { baseUrl: CONVERSION_URL ?? '', appId: CONVERSION_APP_ID ?? '', token: CONVERSION_TOKEN ?? '' },
    },
  });
  const worker = await Worker.create({
    connection,
    taskQueue: 'invoices',
    workflowsPath: require.resolve('./workflows'),
    plugins: [conversion],
  });
  await worker.run(); // until SIGTERM or Ctrl-C
  await connection.close();
}

void main();
