import { endpoints } from 'temporal-file-conversion/contract';
import { describeFormat, requireFormat } from '../../engines/formats';
import { resultJson } from '../../tasks/answer';
import { EphemeralTask } from '../../tasks/ephemeral-tasks';
import { requestSchemas } from '../../tasks/request-data';
import type { JsonEndpoint } from './endpoint';

/** `v1/convert/formats`: the formats at one end; `format` narrows them to those that convert from or to it. */
export const convertFormats: JsonEndpoint<typeof requestSchemas.convertFormats> = {
  path: endpoints.convertFormats,
  rateClass: 'info',
  schema: requestSchemas.convertFormats,
  run({ data, payload, endpoint }, { catalog }) {
    const { sublist, format } = data.parameters;
    const partner = format === undefined ? undefined : requireFormat(catalog, format, 'any');
    const formats = catalog.list(sublist, partner).map(describeFormat);
    return new EphemeralTask(endpoint, payload, resultJson({ output: { formats } }));
  },
};

/** `v1/format/get`: one format. */
export const formatGet: JsonEndpoint<typeof requestSchemas.formatGet> = {
  path: endpoints.formatGet,
  rateClass: 'info',
  schema: requestSchemas.formatGet,
  run({ data, payload, endpoint }, { catalog }) {
    const output = describeFormat(requireFormat(catalog, data.parameters.format, 'any'));
    return new EphemeralTask(endpoint, payload, resultJson({ output }));
  },
};

/** `v1/convert/graph`: whether a pair converts, and whether it does in the other direction. */
export const convertGraph: JsonEndpoint<typeof requestSchemas.convertGraph> = {
  path: endpoints.convertGraph,
  rateClass: 'info',
  schema: requestSchemas.convertGraph,
  run({ data, payload, endpoint }, { catalog }) {
    const input = requireFormat(catalog, data.parameters.input, 'input');
    const output = requireFormat(catalog, data.parameters.output, 'output');
    const graph = { is_match: catalog.converts(input, output), is_reversable: catalog.converts(output, input) };
    return new EphemeralTask(endpoint, payload, resultJson({ output: graph }));
  },
};
