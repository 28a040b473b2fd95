const ended: readonly string[] = ['COMPLETED', 'FAILED', 'CANCELLED', 'TERMINATED', 'TIMED_OUT', 'CONTINUED_AS_NEW'];

/** Whether a workflow has not ended. One that an operator has paused has not, and so is one in a state that this version does not know. */
export function isOpen({ status }: { status: { name: string } }): boolean {
  return !ended.includes(status.name);
}
