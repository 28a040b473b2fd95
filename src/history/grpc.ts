import { isGrpcServiceError, ServiceError, type Client } from '@temporalio/client';

/** Indexed by code: the enum of gRPC statuses is in a package that we do not depend on. */
const statuses = [
  ...(['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND'] as const),
  ...(['ALREADY_EXISTS', 'PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED'] as const),
  ...(['OUT_OF_RANGE', 'UNIMPLEMENTED', 'INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'] as const),
] as const;
const nameOf: Readonly<Record<number, GrpcStatus>> = statuses;
type GrpcStatus = (typeof statuses)[number];

/** How Temporal's server refused a request, also if the SDK wraps the response; undefined for other errors. */
export function refusalOf(error: unknown): { status: GrpcStatus; reason: string } | undefined {
  const refusal = isGrpcServiceError(error) ? error : (error as { cause?: unknown } | undefined)?.cause;
  if (!isGrpcServiceError(refusal)) return undefined;
  const { code, details, message } = refusal;
  return { status: nameOf[code] ?? 'UNKNOWN', reason: details === '' ? message : details };
}

/** False for errors in a response that did arrive, such as a payload that can't be decoded. */
export function isOfServer(error: unknown): boolean {
  return error instanceof ServiceError || isGrpcServiceError(error);
}

export function hasStatus(error: unknown, ...expected: GrpcStatus[]): boolean {
  const refusal = refusalOf(error);
  return refusal !== undefined && expected.includes(refusal.status);
}

export function operatorOf({ connection }: Client) {
  if (!('operatorService' in connection)) throw new TypeError('a connection without an operator service');
  return connection.operatorService;
}

/** Milliseconds since the epoch of a protobuf timestamp. */
export function toMilliseconds(
  time: { seconds?: unknown; nanos?: number | null } | null | undefined,
): number | undefined {
  if (!time) return undefined;
  return Number(time.seconds ?? 0) * 1_000 + Math.floor((time.nanos ?? 0) / 1_000_000);
}
