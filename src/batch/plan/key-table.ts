import { hash } from 'node:crypto';

/** A slot holds 96 bits of the key's SHA-256, and the row plus one. */
const wordsPerSlot = 4;
const fullAt = 0.7;

/**
 * Maps keys to rows in 23 to 46 bytes per key, however long the keys are: it keeps 96 bits of each hash, so that the
 * chance of a collision among a million keys is 1 in 10^17.
 */
export class KeyTable {
  #slots = new Uint32Array(1024 * wordsPerSlot);
  #size = 0;

  get(key: string): number | undefined {
    const row = this.#slots[this.#find(wordsOf(key)) + 3] ?? 0;
    return row === 0 ? undefined : row - 1;
  }

  /** Assigns the key to a row, unless another row holds it, which is then returned. */
  claim(key: string, row: number): number | undefined {
    const words = wordsOf(key);
    const at = this.#find(words);
    const holder = this.#slots[at + 3] ?? 0;
    if (holder !== 0) return holder - 1;
    this.#slots.set([...words, row + 1], at);
    this.#size += 1;
    if (this.#size * wordsPerSlot > this.#slots.length * fullAt) this.#grow();
    return undefined;
  }

  /** The index of the key's slot, or of the empty slot for it. */
  #find([first, second, third]: KeyWords): number {
    const slots = this.#slots;
    const mask = slots.length / wordsPerSlot - 1;
    for (let slot = first & mask; ; slot = (slot + 1) & mask) {
      const at = slot * wordsPerSlot;
      if (slots[at + 3] === 0) return at;
      if (slots[at] === first && slots[at + 1] === second && slots[at + 2] === third) return at;
    }
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(before.length * 2);
    for (let at = 0; at < before.length; at += wordsPerSlot) {
      const [first = 0, second = 0, third = 0, row = 0] = before.subarray(at, at + wordsPerSlot);
      if (row !== 0) this.#slots.set([first, second, third, row], this.#find([first, second, third]));
    }
  }
}

type KeyWords = readonly [number, number, number];

function wordsOf(key: string): KeyWords {
  const digest = hash('sha256', key, 'buffer');
  return [digest.readUInt32LE(0), digest.readUInt32LE(4), digest.readUInt32LE(8)];
}
