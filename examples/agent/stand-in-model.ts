import { Usage, type Model, type ModelProvider, type ModelResponse } from '@openai/agents-core';

/** Takes the place of a model, without an account: asks for the tool with the file and the format of the prompt, then says what it returned. */
export const standIn: ModelProvider = { getModel: () => model };

const model: Model = {
  // An activity calls it, so its answer is in the history, as that of any model.
  getResponse({ input }) {
    const items = typeof input === 'string' ? [] : input;
    const result = items.find((item) => item.type === 'function_call_result');
    const [, file = '', format = ''] = /(\S+) to (\w+)/.exec(JSON.stringify(items[0] ?? input)) ?? [];
    return Promise.resolve<ModelResponse>({
      usage: new Usage(),
      output: [
        result
          ? {
              type: 'message',
              role: 'assistant',
              status: 'completed',
              content: [{ type: 'output_text', text: JSON.stringify(result.output) }],
            }
          : {
              type: 'function_call',
              callId: 'call-1',
              name: 'convert_file',
              arguments: JSON.stringify({ file, format }),
            },
      ],
    });
  },
  getStreamedResponse() {
    throw new Error('The stand-in does not stream.');
  },
};
