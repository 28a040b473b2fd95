import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { confinements } from '../../../src/engines/process/confinement';
import { ConversionPool } from '../../../src/engines/process/conversion-pool';
import { isHere, programs } from '../../../src/engines/programs';
import { odf, paragraph } from '../odf';

const [{ isSealed }] = confinements();
const ifShutIn = isSealed && isHere(programs.writer) ? it : it.skip;

ifShutIn('a field of a document for its own path tells no folder of the server', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'places-'));
  const pool = new ConversionPool({
    maxMemoryBytes: 2 ** 31,
    maxWrittenBytes: 2 ** 31,
    folder: path.join(folder, 'conversions'),
  });
  const [inputPath, outputPath] = [path.join(folder, 'a.odt'), path.join(folder, 'a.rtf')];
  try {
    const field = '<text:file-name text:display="full">unknown</text:file-name>';
    writeFileSync(inputPath, odf({ kind: 'text', body: paragraph(`It is ${field}.`) }));
    const outcome = await pool.convert({
      route: { engine: 'libreoffice', reader: 'odt', writer: 'rtf' },
      ...{ inputPath, outputPath, title: 'a', inputFormat: 'odt', outputFormat: 'rtf', parameters: {} },
      timeoutMs: 100_000,
    });
    expect(outcome).toMatchObject({ status: 'successful' });
    const text = readFileSync(outputPath, 'latin1');
    expect(text).toMatch(/conversion\/a\.odt/);
    expect(text).not.toContain(path.basename(folder));
  } finally {
    await pool.close();
  }
});
