import type { SampleFile } from './target';

/** Files that any conversion service should be able to use. */

const dot = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

/** Converts in no time. */
export const sample: SampleFile = { name: 'conformance.png', bytes: dot };
export const sampleInput = 'png';
export const sampleOutput = 'webp';

/** Has the extension of an image and ends in the middle of it. */
export const brokenSample: SampleFile = { name: 'conformance-broken.png', bytes: dot.subarray(0, 40) };

/** Keeps a converter busy for long enough that its task can be seen running. */
export const slowSample: SampleFile = {
  name: 'conformance-slow.md',
  bytes: Buffer.from(
    'Some *emphasis*, `code`, [a link](https://example.com) and plain words after that.\n\n'.repeat(200),
  ),
};
export const slowOutput = 'docx';

/** What the sample loses something on its way to: a JPEG has no transparency. */
export const lossyOutput = 'jpg';
