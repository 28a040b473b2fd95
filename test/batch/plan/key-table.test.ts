import { KeyTable } from '../../../src/batch/plan/conflicts';

describe('KeyTable', () => {
  it('knows the first holder of each of many keys, and no other key', () => {
    const table = new KeyTable();
    const rows = Array.from({ length: 20_000 }, (_, row) => row);
    expect(rows.filter((row) => table.claim(`key ${row}`, row) !== undefined)).toEqual([]);
    expect(rows.filter((row) => table.claim(`key ${row}`, 99) !== row)).toEqual([]);
    expect(table.get('key 12345')).toBe(12_345);
    expect(table.get('another key')).toBeUndefined();
  });
});
