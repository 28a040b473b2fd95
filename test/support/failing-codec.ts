import type { Payload, PayloadCodec } from '@temporalio/common';

/** Fails once, for the first payload that contains `poison`. */
export class FailingCodec implements PayloadCodec {
  poison: string | undefined;

  encode(payloads: Payload[]): Promise<Payload[]> {
    const { poison } = this;
    const isPoisoned = payloads.some(({ data }) => poison !== undefined && Buffer.from(data ?? []).includes(poison));
    if (!isPoisoned) return Promise.resolve(payloads);
    this.poison = undefined;
    return Promise.reject(new Error('the key server is away'));
  }

  decode(payloads: Payload[]): Promise<Payload[]> {
    return Promise.resolve(payloads);
  }
}
