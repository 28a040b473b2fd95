/** Resolves once the condition holds. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 120_000,
): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  const holds = async () => condition();
  while (!(await holds().catch(falseIfUnanswered))) {
    if (Date.now() > deadline) throw new Error(`It did not come to this in ${timeoutMs} ms: ${what}.`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A worker that has much to do at the moment leaves a query unanswered. */
function falseIfUnanswered(error: unknown): false {
  const { cause = error } = error as { cause?: unknown };
  if ((cause as { code?: unknown }).code === 4) return false;
  throw error;
}
