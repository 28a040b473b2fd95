/** Milliseconds since the epoch of a protobuf timestamp. */
export function toMilliseconds(
  time: { seconds?: unknown; nanos?: number | null } | null | undefined,
): number | undefined {
  if (!time) return undefined;
  return Number(time.seconds ?? 0) * 1_000 + Math.floor((time.nanos ?? 0) / 1_000_000);
}
