import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { convertOffice } from '../../src/engines/office-engine';

it('refuses a web page under the name of an RTF document, of which LibreOffice prints an empty page', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'office-'));
  const inputPath = path.join(folder, 'input.rtf');
  writeFileSync(inputPath, '<p>Words of the page.</p>');
  const converting = convertOffice({
    route: { engine: 'libreoffice', reader: 'rtf', writer: 'writer_pdf_Export' },
    ...{ inputPath, outputPath: path.join(folder, 'output'), title: 'page', parameters: {}, timeoutMs: 60_000 },
    ...{ inputFormat: 'rtf', outputFormat: 'pdf' },
  });
  await expect(converting).rejects.toThrow('The file is not an RTF document');
  rmSync(folder, { recursive: true });
});
