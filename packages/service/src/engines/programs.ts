import { spawn } from 'node:child_process';
import path from 'node:path';
import { ConversionFailure, type ConversionRequest, oneLine } from './conversion';
import type { Program } from './engine';
import { findProgram, installCommand } from './presence';

/** Programs of the machine that convert. None of them comes with this package. */
export const programs = {
  chromium: { debian: 'chromium', commands: ['chromium', 'chromium-browser', 'google-chrome'] },
  ffmpeg: { debian: 'ffmpeg', commands: ['ffmpeg'], versionFlag: '-version' },
  // In its own folder lies the program that `soffice` starts; which documents it opens depends on the libraries there.
  writer: { debian: 'libreoffice-writer-nogui', commands: ['soffice'], beside: 'libswlo.so' },
  calc: { debian: 'libreoffice-calc-nogui', commands: ['soffice'], beside: 'libsclo.so' },
  impress: { debian: 'libreoffice-impress-nogui', commands: ['soffice'], beside: 'libslideshowlo.so' },
  tesseract: { debian: 'tesseract-ocr', commands: ['tesseract'] },
} as const satisfies Readonly<Record<string, Program>>;

export function pathOf(program: Program): string {
  const file = findProgram(program);
  if (file !== undefined) return file;
  throw new ConversionFailure(
    `${program.commands[0] ?? 'A program'} is not here any more. Run: ${installCommand([program])}`,
  );
}

/** The folder of the process that converts, which outlives its conversions; programs keep in it what they keep. */
export function homeOf({ inputPath }: Pick<ConversionRequest, 'inputPath'>): string {
  return path.resolve(inputPath, '../..');
}

/** Of the conversion alone. */
export function workFolderOf({ inputPath }: Pick<ConversionRequest, 'inputPath'>): string {
  return path.dirname(inputPath);
}

/** All that a program learns of this machine. */
export function environmentOf(request: Pick<ConversionRequest, 'inputPath'>): NodeJS.ProcessEnv {
  const home = homeOf(request);
  return { HOME: home, TMPDIR: home, PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', OMP_THREAD_LIMIT: '1' };
}

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of what it said. */
  readonly says: string;
}

const keptLetters = 2_000;

/** Runs a program to its end, in the group of this process, with which it is killed. */
export async function runProgram(
  file: string,
  parameters: readonly string[],
  request: Pick<ConversionRequest, 'inputPath'>,
): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, parameters, {
      cwd: workFolderOf(request),
      env: environmentOf(request),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let says = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (says = (says + text).slice(-keptLetters)));
    }
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, says }));
  });
}

/** What a program said of its failure, without paths, which mean nothing to the owner of the file. */
export function lastLine(says: string, { inputPath }: Pick<ConversionRequest, 'inputPath'>): string {
  const lines = says.split('\n').filter((line) => line.trim() !== '');
  return oneLine(
    (lines.at(-1) ?? 'it gives no reason')
      .replaceAll(inputPath, 'the file')
      .replaceAll(workFolderOf({ inputPath }), ''),
  );
}
