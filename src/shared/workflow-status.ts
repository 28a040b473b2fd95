const ended: readonly string[] = ['COMPLETED', 'FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT', 'CONTINUED_AS_NEW'];

/** Whether a workflow is open. Includes workflows paused by an operator and statuses unknown to this version. */
export function isOpen({ status }: { status: { name: string } }): boolean {
  return !ended.includes(status.name);
}
