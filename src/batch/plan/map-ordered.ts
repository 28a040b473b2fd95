/** The results of an asynchronous step in input order, with at most `concurrency` steps in flight. */
export async function* mapOrdered<Input, Output>(
  inputs: AsyncIterable<Input>,
  { concurrency, signal }: { concurrency: number; signal?: AbortSignal | undefined },
  step: (input: Input) => Promise<Output>,
): AsyncGenerator<Output> {
  const underWay: Promise<Output>[] = [];
  try {
    for await (const input of inputs) {
      signal?.throwIfAborted();
      const result = step(input);
      // It is awaited later; until then a rejection must not end the process.
      result.catch(() => undefined);
      underWay.push(result);
      if (underWay.length >= concurrency) yield await next(underWay);
    }
    while (underWay.length > 0) {
      signal?.throwIfAborted();
      yield await next(underWay);
    }
  } finally {
    await Promise.allSettled(underWay);
  }
}

async function next<Output>(underWay: Promise<Output>[]): Promise<Output> {
  const [first] = underWay.splice(0, 1);
  if (first === undefined) throw new Error('No step is under way.');
  return first;
}
