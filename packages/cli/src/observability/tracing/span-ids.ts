import type { IdGenerator } from '@opentelemetry/sdk-trace-base';

/**
 * Ids for the spans of one run of a workflow: the same whenever its history is replayed, and none of the random numbers that belong to the
 * workflow itself, so that it decides the same with traces and without.
 */
export class RunSpanIds implements IdGenerator {
  readonly #runId: string;
  #state: [number, number, number, number];

  /** @param runId a UUID. */
  constructor(runId: string) {
    this.#runId = runId.replaceAll('-', '').toLowerCase();
    const word = (index: number) => Number.parseInt(this.#runId.slice(index * 8, index * 8 + 8), 16) | 0;
    this.#state = [word(0), word(1), word(2), word(3)];
    // Runs that began in the same moment share the first half of their ids.
    for (let round = 0; round < 16; round += 1) this.#next();
  }

  /** Of a run that nobody's trace led to: its trace is called like the run. */
  generateTraceId = (): string => this.#runId;

  generateSpanId = (): string => {
    const id = this.#hex() + this.#hex();
    return /^0+$/.test(id) ? this.generateSpanId() : id;
  };

  #hex(): string {
    return (this.#next() >>> 0).toString(16).padStart(8, '0');
  }

  /** sfc32: small, fast, and good enough that ids do not collide. */
  #next(): number {
    const [a, b, c, counter] = this.#state;
    const result = (a + b + counter) | 0;
    this.#state = [b ^ (b >>> 9), (c + (c << 3)) | 0, (((c << 21) | (c >>> 11)) + result) | 0, (counter + 1) | 0];
    return result;
  }
}
