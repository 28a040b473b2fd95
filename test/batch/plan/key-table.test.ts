import { KeyTable } from '../../../src/batch/plan/conflicts';

describe('KeyTable', () => {
  it('knows the first holder of each of many keys, and no other key', () => {
    const table = new KeyTable();
    for (let row = 0; row < 20_000; row += 1) expect(table.claim(`key ${row}`, row)).toBeUndefined();
    for (let row = 0; row < 20_000; row += 1) expect(table.claim(`key ${row}`, 99)).toBe(row);
    expect(table.get('key 12345')).toBe(12_345);
    expect(table.get('another key')).toBeUndefined();
  });
});
