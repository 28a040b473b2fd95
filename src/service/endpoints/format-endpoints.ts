import { endpoints } from '../../api/contract';
import { resultJson } from '../answer';
import { chooseOutput, findInput, requireRoute } from '../format-choice';
import { describeFormat, type FormatCatalog, formatName } from '../formats';
import { PassingTask } from '../passing-tasks';
import { requestSchemas } from '../request-data';
import { TaskError } from '../task-error';
import type { JsonEndpoint } from './endpoint';

/** `v1/convert/formats`: the formats at one end; `format` narrows them to those that convert from or to it. */
export const convertFormats: JsonEndpoint<typeof requestSchemas.convertFormats> = {
  path: endpoints.convertFormats,
  rateClass: 'info',
  schema: requestSchemas.convertFormats,
  run({ data, payload, endpoint }, { catalog }) {
    const { sublist, format } = data.parameters;
    const formats = catalog.list(sublist, findPartner(catalog, sublist, format)).map(describeFormat);
    return new PassingTask(endpoint, payload, resultJson({ output: { formats } }));
  },
};

/** `v1/format/get`: what is known of one format. */
export const formatGet: JsonEndpoint<typeof requestSchemas.formatGet> = {
  path: endpoints.formatGet,
  rateClass: 'info',
  schema: requestSchemas.formatGet,
  run({ data, payload, endpoint }, { catalog }) {
    const row = catalog.find(data.parameters.format);
    if (!row) throw new TaskError('WRONG_VALUE_PARAMETER', { subject: 'format' });
    return new PassingTask(endpoint, payload, resultJson({ output: describeFormat(row) }));
  },
};

/** `v1/convert/graph`: whether a pair converts; NO_CONVERTER_INPUT_TO_OUTPUT when it does not. */
export const convertGraph: JsonEndpoint<typeof requestSchemas.convertGraph> = {
  path: endpoints.convertGraph,
  rateClass: 'info',
  schema: requestSchemas.convertGraph,
  run({ data, payload, endpoint }, { catalog }) {
    const input = findInput(catalog, data.parameters.input);
    const output = chooseOutput(catalog, data.parameters.output);
    requireRoute(catalog, input, output);
    const pair = { input: formatName(input), output: formatName(output), convertible: true };
    return new PassingTask(endpoint, payload, resultJson({ output: pair }));
  },
};

function findPartner(catalog: FormatCatalog, sublist: 'inputs' | 'outputs', name: string | undefined) {
  if (name === undefined) return undefined;
  return sublist === 'outputs' ? findInput(catalog, name) : chooseOutput(catalog, name);
}
