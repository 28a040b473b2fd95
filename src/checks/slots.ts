import { EventEmitter, once } from 'node:events';

/** Limits concurrency. A waiting call gives up when its signal aborts. */
export class Slots {
  readonly #ended = new EventEmitter().setMaxListeners(0);

  constructor(private free: number) {}

  /** @throws the reason of `signal`; errors of `work` */
  async take<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
    while (this.free === 0) await once(this.#ended, 'end', { signal }).catch(() => signal.throwIfAborted());
    signal.throwIfAborted();
    this.free -= 1;
    try {
      return await work();
    } finally {
      this.free += 1;
      this.#ended.emit('end');
    }
  }
}
