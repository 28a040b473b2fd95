import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { convertOffice } from '../../src/engines/office-engine';
import { isHere, programs } from '../../src/engines/programs';
import { odf } from './odf';

(isHere(programs.impress) ? it : it.skip)(
  'a picture of an address in a presentation asks nobody',
  async () => {
    const requests: (string | undefined)[] = [];
    const server = http.createServer(({ url }, response) => {
      requests.push(url);
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const folder = mkdtempSync(path.join(tmpdir(), 'office-'));
    const work = path.join(folder, 'conversion');
    mkdirSync(work);
    const inputPath = path.join(work, 'input.odp');
    const href = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.png`;
    const picture = `<draw:frame svg:width="5cm" svg:height="5cm"><draw:image xlink:href="${href}"/></draw:frame>`;
    writeFileSync(inputPath, odf({ kind: 'presentation', body: `<draw:page draw:name="1">${picture}</draw:page>` }));
    await convertOffice({
      route: { engine: 'libreoffice', reader: 'odp', writer: 'impress_pdf_Export' },
      ...{ inputPath, outputPath: path.join(work, 'output'), title: 'a', parameters: {}, timeoutMs: 60_000 },
      ...{ inputFormat: 'odp', outputFormat: 'pdf' },
    });
    expect(requests).toEqual([]);
    server.close();
    rmSync(folder, { recursive: true });
  },
  100_000,
);
