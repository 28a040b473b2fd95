import { type Endpoint, endpoints } from 'temporal-file-conversion/contract';

/** Section "Versioning": the API version is the first segment of a path, and of the endpoint that a task keeps. */

export const documentVersion = 'v1';

/** `v1/convert/file` without its version: what the task does. */
export function taskPathOf(endpoint: string): string {
  return endpoint.slice(endpoint.indexOf('/') + 1);
}

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

/** The version that a path without one means. */
export function latestOf(versions: readonly string[]): string {
  return versions.reduce(
    (latest, version) => (numberOf(version) > numberOf(latest) ? version : latest),
    documentVersion,
  );
}

function numberOf(version: string): number {
  return Number(version.slice(1));
}

/** The paths of an endpoint in one version of the API. */
export function pathsOfEndpoint(
  endpoint: Endpoint,
  { version, latest }: { version: string; latest: string },
): string[] {
  const path = `/${inVersion(endpoint, version)}`;
  return version === latest ? [path, `/${taskPathOf(endpoint)}`] : [path];
}

/** Every path that a service of these versions has. */
export function pathsOf(versions: readonly string[]): ReadonlySet<string> {
  const latest = latestOf(versions);
  return new Set(
    versions.flatMap((version) =>
      Object.values(endpoints).flatMap((endpoint) => pathsOfEndpoint(endpoint, { version, latest })),
    ),
  );
}
