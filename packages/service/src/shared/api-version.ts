import { type Endpoint, endpoints } from 'temporal-file-conversion/contract';

/** Section "Versioning": the API version is the first segment of a path, and of the endpoint that a task keeps. */

export const documentVersion = 'v1';

/** The task that an endpoint names in any version: `convert/file` of `v1/convert/file`. */
export function taskPathOf(endpoint: string): string {
  return endpoint.slice(endpoint.indexOf('/') + 1);
}

export const taskPaths = Object.values(endpoints).map(taskPathOf);

export function versionOf(endpoint: string): string {
  return endpoint.slice(0, endpoint.indexOf('/'));
}

/** Whether a task came to this endpoint, in any version. */
export function isTaskOf(task: { endpoint: string }, endpoint: Endpoint): boolean {
  return taskPathOf(task.endpoint) === taskPathOf(endpoint);
}

/** The path of an endpoint of the document in another version of the API. */
export function inVersion(endpoint: Endpoint, version: string): string {
  return `${version}/${taskPathOf(endpoint)}`;
}

/** Every path of an endpoint in these versions of the API. A path without a version means the latest. */
export function routesOf(endpoint: Endpoint, versions: readonly string[]): { url: string; endpoint: string }[] {
  const [latest = documentVersion] = [...versions].sort((one, other) => Number(other.slice(1)) - Number(one.slice(1)));
  return [
    ...versions.map((version) => inVersion(endpoint, version)).map((each) => ({ url: `/${each}`, endpoint: each })),
    { url: `/${taskPathOf(endpoint)}`, endpoint: inVersion(endpoint, latest) },
  ];
}
