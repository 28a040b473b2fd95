import { endpoints, type Endpoint } from '../../contract/endpoints';

export const endpointClasses = ['upload', 'submit', 'poll', 'download', 'info'] as const;

/** Endpoints assumed to share a limit; the document says only that some, such as uploads, have a stricter one. */
export type EndpointClass = (typeof endpointClasses)[number];

const classes: Record<Endpoint, EndpointClass> = {
  [endpoints.uploadFile]: 'upload',
  [endpoints.convertFile]: 'submit',
  [endpoints.taskResponse]: 'poll',
  [endpoints.convertStatus]: 'poll',
  [endpoints.downloadUrl]: 'download',
  [endpoints.downloadUrlGet]: 'download',
  [endpoints.convertFormats]: 'info',
  [endpoints.convertGraph]: 'info',
  [endpoints.formatGet]: 'info',
};

export function classOf(endpoint: Endpoint): EndpointClass {
  return classes[endpoint];
}
