import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { makeFolder } from 'temporal-file-conversion/storage';
import { describeUnkept, describeUnprinted, describeUnwritten } from './completeness';
import {
  ConversionFailure,
  type Converted,
  type ConvertedFile,
  type EngineRequest,
  type Warnings,
  retire,
} from './conversion';
import { readInput, requireArchive } from './input';
import { hasChanges, officeFileName, readableOffice } from './office/office-input';
import { describeBrokenPictures, describeLostMedia } from './documents/office-pictures';
import { describeErrors } from './pdf/pdf-check';
import { homeOf, lastLine, pathOf, programs, runProgram, workFolderOf } from './programs';

/** LibreOffice, started once per file: `soffice` of the machine, with a profile for each process. */

/** After this many files, a process and its profile are replaced. */
const filesPerProfile = 100;
/** Exit code of LibreOffice when it has created a profile and has to be started again. */
const startAgain = 81;
const zipped = new Set(['docx', 'odt', 'xlsx', 'ods', 'pptx', 'odp']);

/** Import filters. Each file is read only as what its name says, because LibreOffice would read a damaged one as text. */
const readers: Readonly<Record<string, string>> = {
  doc: 'MS Word 97',
  docx: 'MS Word 2007 XML',
  odp: 'impress8',
  ods: 'calc8',
  odt: 'writer8',
  ppt: 'MS PowerPoint 97',
  pptx: 'Impress MS PowerPoint 2007 XML',
  rtf: 'Rich Text Format',
  xls: 'MS Excel 97',
  xlsx: 'Calc MS Excel 2007 XML',
};

let files = 0;

export async function convertOffice(request: EngineRequest): Promise<Converted | ConvertedFile> {
  const { reader, writer } = request.route;
  const input = await readInput(request);
  if (zipped.has(reader)) requireArchive(request, input);
  // LibreOffice accepts anything as RTF, and prints an empty page.
  if (reader === 'rtf' && !input.toString('latin1', 0, 1_000).trimStart().startsWith('{\\rt')) {
    throw new ConversionFailure('The file is not an RTF document, so it is damaged or has the wrong extension.');
  }
  const format = extensionOf(writer);
  const source = { format: reader, file: path.join(workFolderOf(request), officeFileName(request)) };
  await rename(request.inputPath, source.file);
  await putRight(source, format);
  files += 1;
  if (files >= filesPerProfile) retire();
  const started = Date.now();
  const { ended, result } = await runOffice(request, source, targetOf(request));
  if (ended.signal !== null || !existsSync(result)) throw failureOf({ ...request, inputPath: source.file }, ended);
  if (writer === 'csv') {
    // LibreOffice's own CSV holds the first sheet, without a word about the others.
    const { convertSheets } = await import('./sheet-engine.js');
    const read = { ...request, route: { ...request.route, reader: format } };
    const { data, warnings } = await convertSheets(read, await readFile(result));
    return { data, warnings: { ...warnings, ...describeErrors('', Buffer.from(data).toString('utf8')) } };
  }
  const isSlow = Date.now() - started > request.timeoutMs / 4;
  return { file: result, warnings: await describeResult(request, source, { format, file: result, isSlow }) };
}

function failureOf(request: EngineRequest, ended: { signal: string | null; says: string }): ConversionFailure {
  if (ended.signal !== null) retire();
  const reason = ended.signal ?? lastLine(ended.says, request).replace(/^Error: /, '');
  return new ConversionFailure(
    `LibreOffice could not convert the ${request.inputFormat} file to ${request.outputFormat}; it may be damaged, or need a password (${reason}).`,
  );
}

interface OfficeFile {
  readonly format: string;
  readonly file: string;
}

/** Warnings for losses. An old format can be checked only through a newer one, for which a slow file has no time. */
async function describeResult(
  request: EngineRequest,
  source: OfficeFile,
  result: OfficeFile & { isSlow: boolean },
): Promise<Warnings> {
  // Even a slow RTF is copied, but only to accept the tracked changes in it.
  const examined = result.isSlow && source.format !== 'rtf' ? source : await newerOf(request, source, result.format);
  const readable = { ...request, route: { ...request.route, reader: examined.format } };
  const isCopy = examined !== source;
  if (isCopy && (await putRight(examined, result.format))) await runOffice(request, examined, targetOf(request));
  const opened = await readFile(examined.file);
  const data = await readFile(result.file);
  const kept = result.isSlow ? result : await newerOf(request, result);
  const copy = kept === result ? data : await readFile(kept.file);
  const pictures = { ...describeBrokenPictures(opened), ...describeLostMedia(opened, copy) };
  if (result.format === 'pdf') return { ...pictures, ...(await describeUnprinted(readable, opened, data, { isCopy })) };
  if (result.format === 'txt') return { ...pictures, ...describeUnwritten(readable, opened, data) };
  return { ...pictures, ...(await describeUnkept(readable, opened, { format: kept.format, data: copy })) };
}

/** Repairs a file for its conversion to the format `to`; returns whether it changed anything. */
async function putRight({ format, file }: OfficeFile, to: string): Promise<boolean> {
  const data = await readFile(file);
  const opened = readableOffice(format, to, data);
  if (opened !== data) await writeFile(file, opened);
  return opened !== data;
}

const newerFormats: Readonly<Record<string, string>> = { doc: 'docx', ppt: 'pptx', xls: 'xlsx' };

/** The file in the newer format of its kind; unchanged if there is none, or if that is `atHand` already. */
async function newerOf(request: EngineRequest, old: OfficeFile, atHand?: string): Promise<OfficeFile> {
  const isChanged = /pdf|txt/.test(atHand ?? '') && old.format === 'rtf' && hasChanges(await readFile(old.file));
  const format = isChanged ? 'docx' : newerFormats[old.format];
  if (format === undefined || format === atHand) return old;
  const { result } = await runOffice(request, old, format);
  return existsSync(result) ? { format, file: result } : old;
}

/** Runs LibreOffice once; `result` is the path of its output, which may not exist. */
async function runOffice(request: EngineRequest, { format, file: input }: OfficeFile, target: string) {
  const beside = 'soffice.bin';
  const file = path.join(path.dirname(pathOf({ ...programs.writer, beside })), beside);
  const folder = path.join(workFolderOf(request), 'result');
  const parameters = [
    `-env:UserInstallation=${pathToFileURL(await prepareProfile(homeOf(request))).href}`,
    ...['--headless', '--norestore', '--nologo', '--nolockcheck', `--infilter=${readers[format] ?? ''}`],
    ...['--convert-to', target, '--outdir', folder, input],
  ];
  const once = await runProgram(file, parameters, request);
  const ended = once.code === startAgain ? await runProgram(file, parameters, request) : once;
  const name = path.basename(input, path.extname(input));
  return { ended, result: path.join(folder, `${name}.${target.split(':')[0] ?? ''}`) };
}

function extensionOf(writer: string): string {
  if (writer === 'csv') return 'xlsx';
  return writer.endsWith('_pdf_Export') ? 'pdf' : writer;
}

function targetOf({ route: { writer }, parameters: { pages, quality } }: EngineRequest): string {
  if (writer === 'txt') return 'txt:Text (encoded):UTF8';
  if (extensionOf(writer) !== 'pdf') return extensionOf(writer);
  const options = {
    ...(pages !== undefined && { PageRange: { type: 'string', value: pages } }),
    ...(quality !== undefined && { Quality: { type: 'long', value: String(quality) } }),
  };
  return `pdf:${writer}:${JSON.stringify(options)}`;
}

/** Keeps documents from running macros, and from loading or linking to anything outside of them. */
const settings: readonly [component: string, name: string, value: string | number | boolean][] = [
  ['Office.Common/Security/Scripting', 'MacroSecurityLevel', 3],
  ['Office.Common/Security/Scripting', 'DisableMacrosExecution', true],
  ['Office.Common/Security/Scripting', 'DisableActiveContent', true],
  ['Office.Common/Security/Scripting', 'BlockUntrustedRefererLinks', true],
  ['Office.Writer/Content/Update', 'Link', 0],
  ['Office.Calc/Content/Update', 'Link', 1],
  ['Office.Common/Java', 'ApplicationFeatures', false],
  // Presentations load linked pictures all the same, so they get a proxy that does not exist.
  ['Inet/Settings', 'ooInetProxyType', 2],
  ['Inet/Settings', 'ooInetHTTPProxyName', '127.0.0.1'],
  ['Inet/Settings', 'ooInetHTTPProxyPort', 1],
  ['Inet/Settings', 'ooInetHTTPSProxyName', '127.0.0.1'],
  ['Inet/Settings', 'ooInetHTTPSProxyPort', 1],
  ['Inet/Settings', 'ooInetNoProxy', ''],
];

/**
 * Settings are rewritten for each file: those that LibreOffice leaves behind reveal earlier files, and make a confined LibreOffice (7.4)
 * take unlimited memory on a second OpenDocument text.
 */
async function prepareProfile(home: string): Promise<string> {
  const profile = path.join(home, 'office');
  const file = path.join(profile, 'user/registrymodifications.xcu');
  const items = settings.map(
    ([component, name, value]) =>
      `<item oor:path="/org.openoffice.${component}"><prop oor:name="${name}" oor:op="fuse"><value>${String(value)}</value></prop></item>`,
  );
  await makeFolder(path.dirname(file));
  await writeFile(
    file,
    `<?xml version="1.0" encoding="UTF-8"?>\n<oor:items xmlns:oor="http://openoffice.org/2001/registry">${items.join('')}</oor:items>\n`,
  );
  return profile;
}
