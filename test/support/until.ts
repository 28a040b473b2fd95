/** Resolves once the condition holds. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 120_000,
): Promise<void> {
  const began = Date.now();
  const holds = async () => condition();
  while (!(await holds().catch(falseIfUnanswered))) {
    const waited = Date.now() - began;
    if (waited > timeoutMs) throw new Error(`It did not come to this in ${timeoutMs} ms: ${what}.`);
    // With a growing pause, to spare Temporal, which most conditions query.
    await new Promise((resolve) => setTimeout(resolve, Math.min(10 + waited / 5, 50)));
  }
}

/** A busy worker may leave a query unanswered. */
function falseIfUnanswered(error: unknown): false {
  const { cause = error } = error as { cause?: unknown };
  if ((cause as { code?: unknown }).code === 4) return false;
  throw error;
}
