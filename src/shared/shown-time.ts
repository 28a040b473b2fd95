/** `2026-11-21 08:41:41`, in UTC. */
export function shownTime(time: Date | number): string {
  return new Date(time).toISOString().slice(0, 19).replace('T', ' ');
}
