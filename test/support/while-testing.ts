/** Starts an object in a `before` hook and ends it in an `after` hook. Its properties are available while tests run. */
export function whileTesting<Started extends object>(
  start: () => Promise<Started>,
  end: (started: Started) => Promise<void>,
  { before, after }: { before: jest.Lifecycle; after: jest.Lifecycle },
): Started {
  let started: Started | undefined;
  // Some servers are built on their first start.
  before(async () => void (started = await start()), 900_000);
  after(() => started && end(started));
  return new Proxy({} as Started, {
    get(_none, name) {
      if (!started) throw new Error('It has not been started yet: it is there in tests and in hooks.');
      return Reflect.get(started, name) as unknown;
    },
  });
}
