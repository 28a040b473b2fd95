import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { ConversionFailure, type EngineRequest, type ConvertedFile, type Warnings } from '../conversion';
import { type Film, filmSchema, lostTags, planTracks, secondsOf, trackName, type TrackPlan } from './film-tracks';
import { lastLine, pathOf, programs, runProgram, workFolderOf } from '../programs';

/** Converts sound and film, with the codecs that FFmpeg chooses for a container. */
export async function convertFilm(request: EngineRequest): Promise<ConvertedFile> {
  const film = await readFilm(request, inputOf(request));
  if (film.streams.length === 0) {
    throw new ConversionFailure(
      `The ${request.inputFormat} file is damaged, cut off, or of another kind: it has no sound and no pictures that FFmpeg can find.`,
    );
  }
  const plan = planTracks(request, film.streams);
  const result = path.join(workFolderOf(request), 'result');
  const ended = await runProgram(
    pathOf(programs.ffmpeg),
    [
      ...['-hide_banner', '-nostdin', '-v', 'error'],
      ...[...plan.decoder, ...inputOf(request), ...plan.parameters],
      ...['-f', request.route.writer, result],
    ],
    request,
  );
  if (ended.code === 0) {
    const made = await readFilm(request, ['-i', result]);
    const notKept = describeNotKept(request, { film, plan, made });
    return { file: result, warnings: { ...describeLosses(request, plan, ended.says), ...notKept } };
  }
  throw new ConversionFailure(
    `FFmpeg could not convert the ${request.inputFormat} file to ${request.outputFormat}: ${reasonIn(ended.says, request)}`,
  );
}

/** The file is read only as the format of its name, so that a playlist under another name is not followed. */
function inputOf({ route: { reader }, inputPath }: EngineRequest): string[] {
  return ['-protocol_whitelist', 'file', '-f', reader, '-i', inputPath];
}

/** Has no tracks if the file cannot be read. */
async function readFilm(request: EngineRequest, input: readonly string[]): Promise<Film> {
  const list = path.join(workFolderOf(request), 'tracks.json');
  const shown = ['-show_streams', '-show_chapters', '-show_format', '-of', 'json', '-o', list];
  const ended = await runProgram(
    pathOf(programs.ffprobe),
    ['-hide_banner', '-v', 'warning', ...input, ...shown],
    request,
  );
  const probed = ended.code === 0 ? (JSON.parse(await readFile(list, 'utf8')) as object) : {};
  return filmSchema.parse({ ...probed, isTimeGuessed: ended.says.includes('Estimating duration') });
}

/** FFmpeg silently drops what a container has no place for. */
function describeNotKept(
  { outputFormat }: EngineRequest,
  { film, plan, made }: { film: Film; plan: TrackPlan; made: Film },
): Warnings {
  const warnings: Warnings = {};
  const tags = lostTags(film, made);
  const chapters = film.chapters.length - made.chapters.length;
  const [claimed, kept] = [secondsOf(film, plan.kept), secondsOf(made, made.streams)];
  if (claimed !== undefined && kept !== undefined && claimed - kept > Math.max(1, claimed / 10)) {
    warnings['INPUT_DAMAGED'] =
      `The file says that it lasts ${Math.round(claimed)} s, and FFmpeg has found ${Math.round(kept)} s: it is cut off.`;
  }
  if (tags.length > 0) {
    warnings['TAGS_LOST'] =
      `What the file says of itself is not in the result, because ${outputFormat} cannot hold it: ${tags.join(', ')}. Convert to m4a, mp3 or mkv to keep it.`;
  }
  if (chapters > 0) {
    warnings['CHAPTERS_LOST'] =
      `${chapters} chapter(s) are not in the result, because ${outputFormat} cannot hold them. Convert to m4a, mp3 or mkv to keep them.`;
  }
  return warnings;
}

function describeLosses(
  { outputFormat }: EngineRequest,
  { lost, losesAlpha, mixedDown }: TrackPlan,
  says: string,
): Warnings {
  const warnings: Warnings = {};
  if (lost.length > 0) {
    warnings['TRACKS_LOST'] =
      `${lost.length} track(s) are not in the result, because ${outputFormat} cannot hold them: ${lost.map(trackName).join(', ')}. Convert to mkv to keep them.`;
  }
  if (losesAlpha) warnings['TRANSPARENCY_LOST'] = `${outputFormat} has no transparency. Convert to webm to keep it.`;
  if (mixedDown.length > 0) {
    warnings['SOUND_MIXED_DOWN'] =
      `${outputFormat} has two channels: ${mixedDown.map((track) => `${trackName(track)} had ${track.channels}`).join(', ')}. Convert to mkv, m4a, flac or wav to keep them.`;
  }
  if (says.trim() !== '') {
    warnings['INPUT_DAMAGED'] =
      `FFmpeg met errors in the file and went on; some of it may be missing: ${says.trim().split('\n').map(plain)[0] ?? ''}`;
  }
  return warnings;
}

/** The first of several errors is the cause; the others follow from it. */
function reasonIn(says: string, request: EngineRequest): string {
  const [first = ''] = says.trim().split('\n').map(plain);
  if (/Invalid data found|moov atom not found|End of file/.test(says)) return 'it is damaged or cut off.';
  return lastLine(first, request);
}

/** Without the address of the component: `[libx264 @ 0x55d0c8]`. */
function plain(line: string): string {
  return line.replace(/\[[^\]]* @ 0x[0-9a-f]+\]\s*/g, '');
}
