import type { BatchItemResult } from '../../src/batch/model/state';
import { InlineResults } from '../../src/workflows/batch/inline-items';

it('shortens 500 results until they fit into the input of the next run, and says what it left out', () => {
  const results = new InlineResults([]);
  const uri = `file:///${'o'.repeat(1_000)}.pdf`;
  const warnings = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`FONT_${index}`, '字'.repeat(100)]));
  for (let item = 1; item <= 500; item += 1) {
    const output = { uri, name: 'o'.repeat(200), bytes: 1, sha256: 'a'.repeat(64) };
    results.add({ item, status: 'failed', message: '字'.repeat(1_000), warnings, output } satisfies BatchItemResult);
  }
  expect(Buffer.byteLength(JSON.stringify(results.pending))).toBeLessThan(500 * 2_500);
  const [first] = results.pending;
  expect(first).toMatchObject({ output: { uri }, warnings: { MORE_WARNINGS: 'and 50 more' } });
  expect(first?.message).toMatch(/^字{199}…$/);
});
