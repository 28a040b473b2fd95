import { pathToFileURL } from 'node:url';
import { OpenAIProvider } from '@openai/agents-openai';
import { OpenAIAgentsPlugin } from '@temporalio/openai-agents';
import { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { standIn } from './stand-in-model';
import type { convertingAgent } from './workflows';

/** `node start.js ENDPOINT APP FOLDER PROMPT ID`: prints what the agent answers. Killed and run again, it goes on where it was. */
async function main([endpoint = '', app = '', folder = '', prompt = '', workflowId = '']: string[]): Promise<void> {
  const { TEMPORAL_ADDRESS: address = '127.0.0.1:7233', TEMPORAL_NAMESPACE: namespace = 'default' } = process.env;
  const modelProvider = process.env['OPENAI_API_KEY'] ? new OpenAIProvider() : standIn;
  const plugins = [new OpenAIAgentsPlugin({ modelProvider })];
  const connection = await NativeConnection.connect({ address });
  const workflowsPath = require.resolve('./workflows');
  const worker = await Worker.create({ connection, namespace, taskQueue: 'agents', workflowsPath, plugins });
  const client = new Client({ connection, namespace, plugins });
  const answer = client.workflow.execute<typeof convertingAgent>('convertingAgent', {
    workflowId,
    workflowIdConflictPolicy: 'USE_EXISTING',
    taskQueue: 'agents',
    args: [{ endpoint, app, folder: `${pathToFileURL(folder).href}/`, prompt }],
  });
  console.log(await worker.runUntil(answer));
  await connection.close();
}

void main(process.argv.slice(2));
