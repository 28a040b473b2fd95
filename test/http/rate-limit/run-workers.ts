import { EagerWorker, SimulatedService, Simulation } from './simulated-service';

const seconds = 1_000;

/** Runs workers that always have work in simulated time. Returns what the service served and refused. */
export function runWorkers(options: {
  limit: number;
  windowSeconds: number;
  workers: number;
  windows: number;
  seed?: number;
  latencyMs?: number;
  round?: (value: number) => number;
  isPatient?: boolean;
  slots?: number;
  takesMs?: number;
  writesHeadersLate?: boolean;
  /** Windows at the beginning that are left out of the figures. */
  ignoredWindows?: number;
  killedAfter?: { windows: number; workers: number };
  /** Another client sends a request at this interval, whatever the answers. */
  foreignEveryMs?: number;
  /** The service is away for this many windows, starting with window `from`. */
  away?: { from: number; windows: number };
}) {
  const { limit, windowSeconds, workers, windows, seed = 1, latencyMs = 4, round, isPatient = false } = options;
  const { slots = 50, takesMs = 0, writesHeadersLate = false } = options;
  const simulation = new Simulation();
  const service = new SimulatedService(limit, windowSeconds * seconds, round);
  const random = seededRandom(seed);
  const all = Array.from(
    { length: workers },
    () =>
      new EagerWorker(simulation, service, {
        random,
        latencyMs: () => latencyMs * (0.5 + random()),
        slots,
        isPatient,
        takesMs,
        writesHeadersLate,
      }),
  );
  const startMs = simulation.nowMs;
  for (const worker of all) simulation.at(startMs + random() * 300, () => worker.advance());
  const windowMs = windowSeconds * seconds;
  const endMs = startMs + windows * windowMs;
  const { ignoredWindows = 0, killedAfter, foreignEveryMs, away } = options;
  let refusedToForeigner = 0;
  const askForeign = (everyMs: number): void => {
    if (service.answer(simulation.nowMs).throttled) refusedToForeigner += 1;
    simulation.at(simulation.nowMs + everyMs, () => askForeign(everyMs));
  };
  if (foreignEveryMs !== undefined) simulation.at(startMs, () => askForeign(foreignEveryMs));
  if (killedAfter) {
    const killed = all.slice(0, killedAfter.workers);
    simulation.at(startMs + killedAfter.windows * windowMs, () => killed.forEach((worker) => worker.kill()));
  }
  if (away) {
    const fromMs = startMs + away.from * windowMs;
    simulation.at(fromMs, () => (service.isAway = true));
    simulation.at(fromMs + away.windows * windowMs, () => (service.isAway = false));
  }
  simulation.runUntil(startMs + ignoredWindows * windowMs);
  const before = { served: service.served, throttled: service.throttled };
  simulation.runUntil(endMs);
  const served = service.served - before.served;
  const throttled = service.throttled - refusedToForeigner - before.throttled;
  return {
    utilisation: served / (limit * (windows - ignoredWindows)),
    throttledShare: throttled / (served + throttled),
    throttled,
    sentBy: all.map(({ sent }) => sent),
  };
}

function seededRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}
