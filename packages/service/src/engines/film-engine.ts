import path from 'node:path';
import { ConversionFailure, type ConversionRequest, type ConvertedFile } from './conversion';
import { lastLine, pathOf, programs, runProgram, workFolderOf } from './programs';

/** Containers of sound alone: a film that becomes one loses its pictures. */
const soundOnly = new Set(['mp3', 'wav', 'flac', 'ogg', 'opus', 'ipod', 'adts', 'aiff']);

/** Sound and film, with the codecs that FFmpeg itself chooses for a container. */
export async function convertFilm(request: ConversionRequest): Promise<ConvertedFile> {
  const { reader, writer } = request.route;
  const result = path.join(workFolderOf(request), 'result');
  const ended = await runProgram(
    pathOf(programs.ffmpeg),
    [
      ...['-hide_banner', '-nostdin', '-v', 'error'],
      // A file is what its name says: a list of other files under another name is not followed.
      ...['-protocol_whitelist', 'file', '-f', reader, '-i', request.inputPath],
      ...(soundOnly.has(writer) || request.outputFormat === 'wma' ? ['-vn'] : []),
      ...['-f', writer, result],
    ],
    request,
  );
  if (ended.code === 0) return { file: result, warnings: {} };
  throw new ConversionFailure(
    `FFmpeg could not convert the ${request.inputFormat} file to ${request.outputFormat}: ${lastLine(ended.says, request)}`,
  );
}
