/** Resolves once the condition holds. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 50_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`It did not come to this in ${timeoutMs} ms: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
