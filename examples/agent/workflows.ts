import { Agent, tool } from '@openai/agents-core';
import { ApplicationFailure } from '@temporalio/common';
import { TemporalOpenAIRunner } from '@temporalio/openai-agents/workflow';
import { createNexusServiceClient, workflowInfo } from '@temporalio/workflow';
import * as nexus from 'nexus-rpc';

/** What this agent uses of the service: docs/embedding/schemas.json describes the rest. */
const conversionService = nexus.service('conversion', {
  convert: nexus.operation<
    { key: string; app: string; source: { uri: string }; output: string; destination: string },
    { output?: { name: string; sha256: string } }
  >(),
});

export interface Task {
  endpoint: string;
  app: string;
  /** `file:` URI of the only folder whose files the agent may convert; ends with a slash. */
  folder: string;
  prompt: string;
}

/**
 * An agent whose tool is the Nexus operation `convert`. The model names a file and a format, and nothing else: the app, the folder and the
 * key are the workflow's, so a model that asks twice, or a worker that is killed, has a file converted once.
 */
export async function convertingAgent({ endpoint, app, folder, prompt }: Task): Promise<string> {
  const conversion = createNexusServiceClient({ service: conversionService, endpoint });
  const convertFile = tool({
    name: 'convert_file',
    description: 'Converts a file of the folder to another format, beside it. Returns the name of the new file.',
    parameters: {
      type: 'object',
      properties: { file: { type: 'string' }, format: { type: 'string', pattern: '^[a-z0-9]+$' } },
      required: ['file', 'format'],
      additionalProperties: false,
    },
    execute: async (asked) => {
      const { file, format } = asked as { file: string; format: string };
      const { output } = await conversion.executeOperation('convert', {
        key: `${workflowInfo().workflowId}/${file}.${format}`,
        app,
        // Encoded, a name with slashes or dots leads nowhere else.
        source: { uri: folder + encodeURIComponent(file) },
        output: format,
        destination: folder,
      });
      return output?.name ?? '';
    },
    errorFunction: (_context, error) => `Failed: ${reasonOf(error)}`,
  });
  const agent = new Agent({
    name: 'Archivist',
    instructions: 'Convert the files that you are asked to.',
    tools: [convertFile],
  });
  const { finalOutput } = await new TemporalOpenAIRunner().run(agent, prompt, { runConfig: { tracingDisabled: true } });
  return finalOutput ?? '';
}

/** The job's own failure, for the model: the code, and what to do about it. */
function reasonOf(error: unknown): string {
  if (error instanceof ApplicationFailure && error.type !== 'OperationError') return `${error.type}: ${error.message}`;
  return error instanceof Error && error.cause ? reasonOf(error.cause) : String(error);
}
