import { execFile } from 'node:child_process';
import { openAsBlob, readdirSync, readFileSync } from 'node:fs';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { odf, paragraph } from '../packages/service/test/engines/odf';
import { perSecond, round } from './support/figures';
import { measure, type Setting } from './support/measurement';
import { convertPlainly } from './support/plain-client';
import { startEmbeddedService } from './support/service-processes';

/**
 * Office files to PDF: through the embedded service, upload and download included, against a plain loop of `soffice --convert-to pdf`
 * with as many of them side by side, each with a profile of its own. While the service converts, some of its soffice processes are killed.
 */
const { values: options } = parseArgs({
  options: {
    files: { type: 'string', default: '500' },
    processes: { type: 'string', default: '4' },
    kills: { type: 'string', default: '3' },
  },
});
const processes = Number(options.processes);
const files = Number(options.files);
const run = promisify(execFile);

async function main({ folder, owns }: Setting) {
  const sources = await makeSources(folder);
  const plainFilesPerSecond = await inTurn(sources, processes, (file, lane) => convertByLoop(folder, file, lane));
  console.log(`plain loop  ${plainFilesPerSecond.toFixed(2)} files/s`);
  const service = owns(
    await startEmbeddedService({
      dataDir: path.join(folder, 'service'),
      engines: ['libreoffice'],
      conversionConcurrency: processes,
    }),
  );
  const watch = watchOffices(service.process.pid ?? 0);
  const filesPerSecond = await inTurn(sources, 4 * processes, (file) => convertAt(service.baseUrl, file));
  const { kills, peakMiB } = watch.stop();
  console.log(`service     ${filesPerSecond.toFixed(2)} files/s, ${kills} kills`);
  return {
    ratio: round(filesPerSecond / plainFilesPerSecond),
    filesPerSecond: round(filesPerSecond),
    plainFilesPerSecond: round(plainFilesPerSecond),
    files,
    kills,
    peakMiB,
  };
}

/** Texts, tables and slides of one or two pages in the formats of today and of long ago. */
async function makeSources(folder: string): Promise<string[]> {
  const words = 'Words that fill a line and go on in the next one. '.repeat(12);
  const cells =
    '<table:table-cell office:value-type="float" office:value="1.5"><text:p>1.5</text:p></table:table-cell>';
  const grid = `<table:table table:name="t"><table:table-column table:number-columns-repeated="3"/>${`<table:table-row>${cells.repeat(3)}</table:table-row>`.repeat(40)}</table:table>`;
  const slide = `<draw:page draw:name="One" draw:master-page-name="m"><draw:frame svg:x="2cm" svg:y="2cm" svg:width="20cm" svg:height="4cm"><draw:text-box>${paragraph(words)}</draw:text-box></draw:frame></draw:page>`;
  const master = `<office:automatic-styles><style:page-layout style:name="l"><style:page-layout-properties fo:page-width="28cm" fo:page-height="21cm"/></style:page-layout></office:automatic-styles><office:master-styles><style:master-page style:name="m" style:page-layout-name="l"/></office:master-styles>`;
  const text = odf({ kind: 'text', body: paragraph(words).repeat(9) + grid });
  const templates: [name: string, data: Buffer, others: string[]][] = [
    ['letter.odt', text, ['docx', 'doc', 'rtf']],
    ['sums.ods', odf({ kind: 'spreadsheet', body: grid }), ['xlsx', 'xls']],
    ['talk.odp', odf({ kind: 'presentation', styles: master, body: slide.repeat(2) }), ['pptx', 'ppt']],
  ];
  const made: string[] = [];
  for (const [name, data, others] of templates) {
    const file = path.join(folder, name);
    await writeFile(file, data);
    made.push(file);
    for (const other of others) {
      await soffice({ profile: path.join(folder, 'profile'), format: other, outDir: folder, file });
      made.push(file.replace(/\w+$/, other));
    }
  }
  await mkdir(path.join(folder, 'in'));
  return Promise.all(
    Array.from({ length: files }, async (_, index) => {
      const template = made[index % made.length] ?? '';
      const copy = path.join(folder, 'in', `${index}${path.extname(template)}`);
      await copyFile(template, copy);
      return copy;
    }),
  );
}

async function soffice(task: { profile: string; format: string; outDir: string; file: string }): Promise<void> {
  const profile = `-env:UserInstallation=file://${task.profile}`;
  await run('soffice', [profile, '--headless', '--convert-to', task.format, '--outdir', task.outDir, task.file]);
}

async function convertByLoop(folder: string, file: string, lane: number): Promise<void> {
  const [profile, outDir] = [path.join(folder, `profile-${lane}`), path.join(folder, `out-${lane}`)];
  await soffice({ profile, format: 'pdf', outDir, file });
  requirePdf(await readFile(path.join(outDir, `${path.parse(file).name}.pdf`)), file);
}

async function convertAt(baseUrl: string, file: string): Promise<void> {
  const source = { name: path.basename(file), data: await openAsBlob(file) };
  requirePdf(await convertPlainly(baseUrl, source, 'pdf'), file);
}

function requirePdf(data: Buffer, file: string): void {
  if (data.subarray(0, 5).toString() !== '%PDF-') throw new Error(`${path.basename(file)} became no PDF`);
}

function inTurn(
  sources: readonly string[],
  lanes: number,
  convert: (file: string, lane: number) => Promise<void>,
): Promise<number> {
  return perSecond({ count: sources.length, lanes }, (index, lane) => convert(sources[index] ?? '', lane));
}

/** Adds up the memory of all processes below another one, and kills one of their soffice processes now and then. */
function watchOffices(root: number) {
  const seen = new Set<number>();
  const wanted = Number(options.kills);
  let [kills, peakMiB, ended] = [0, 0, false];
  const look = async () => {
    while (!ended) {
      const tree = processesBelow(root);
      const offices = tree.filter(({ name }) => name === 'soffice.bin').map(({ pid }) => pid);
      for (const pid of offices) seen.add(pid);
      peakMiB = Math.max(
        peakMiB,
        tree.reduce((sum, { pid }) => sum + memoryOf(pid), 0),
      );
      if (offices.length > 0 && kills < wanted && seen.size > ((kills + 1) * files) / (wanted + 1)) {
        // The oldest: not the one that repeats what was killed before.
        process.kill(Math.min(...offices), 'SIGKILL');
        kills += 1;
      }
      await sleep(50);
    }
  };
  const looking = look();
  return {
    stop() {
      ended = true;
      void looking;
      return { kills, peakMiB: Math.round(peakMiB) };
    },
  };
}

function processesBelow(root: number): { pid: number; name: string }[] {
  const all = readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .flatMap((entry) => {
      const [, name = '', parent = ''] = /^\d+ \((.*)\) \S (\d+)/s.exec(readIfThere(`/proc/${entry}/stat`)) ?? [];
      return name === '' ? [] : [{ pid: Number(entry), name, parent: Number(parent) }];
    });
  const below = [{ pid: root, name: '' }];
  for (const { pid } of below) below.push(...all.filter(({ parent }) => parent === pid));
  return below;
}

/** Shared pages are counted once among those who share them. */
function memoryOf(pid: number): number {
  return Number(/^Pss:\s+(\d+)/m.exec(readIfThere(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024;
}

/** A process may end between the listing and the reading. */
function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

void measure(main);
