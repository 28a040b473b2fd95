import { z } from 'zod';
import { ConversionFailure, type EngineRequest } from '../conversion';

/** Decides which tracks of a film or a sound its target holds, and how. */

const trackSchema = z.object({
  index: z.number(),
  codec_type: z.string().default('data'),
  codec_name: z.string().default('unknown'),
  channels: z.number().default(0),
  pix_fmt: z.string().default(''),
  duration: z.coerce.number().optional(),
  tags: z.record(z.string(), z.string()).default({}),
  disposition: z.object({ attached_pic: z.number() }).partial().default({}),
});
export type Track = z.infer<typeof trackSchema>;
export const filmSchema = z.object({
  streams: z.array(trackSchema).default([]),
  chapters: z.array(z.unknown()).default([]),
  format: z
    .object({ tags: z.record(z.string(), z.string()).default({}), duration: z.coerce.number().optional() })
    .default({ tags: {} }),
  /** The duration is an estimate from size and bit rate. */
  isTimeGuessed: z.boolean().default(false),
});
export type Film = z.infer<typeof filmSchema>;

/** The tracks that a container can hold. */
interface Container {
  readonly pictures: boolean;
  readonly sounds: 'none' | 'one' | 'many';
  readonly subtitles?: 'mov_text' | 'srt' | 'webvtt';
  readonly keeps?: RegExp;
  readonly cover?: boolean;
  /** Limits sound to two channels and, if given, to one of these sample rates. */
  readonly stereo?: string | true;
}

const ratesOfWma = '8000|11025|16000|22050|32000|44100|48000';
const soundAlone: Container = { pictures: false, sounds: 'one' };
const withCover: Container = { ...soundAlone, cover: true };
const film: Container = { pictures: true, sounds: 'many' };

const containers: Readonly<Record<string, Container>> = {
  flac: withCover,
  m4a: withCover,
  mp3: { ...withCover, stereo: true },
  wma: { ...soundAlone, stereo: ratesOfWma },
  avi: { ...film, stereo: true },
  flv: { ...film, sounds: 'one', stereo: '11025|22050|44100' },
  gif: { pictures: true, sounds: 'none' },
  mkv: { ...film, subtitles: 'srt', keeps: /^(subrip|ass|ssa|webvtt|hdmv_pgs_subtitle|dvd_subtitle|dvb_subtitle)$/ },
  mov: { ...film, subtitles: 'mov_text' },
  mp4: { ...film, subtitles: 'mov_text', cover: true },
  ts: { ...film, stereo: true },
  webm: { ...film, subtitles: 'webvtt' },
  wmv: { ...film, stereo: ratesOfWma },
};

const textSubtitles = /^(subrip|ass|ssa|webvtt|mov_text|text)$/;

/** FFmpeg's own decoders of these codecs drop transparency. */
const alphaDecoders: Readonly<Record<string, string>> = { vp8: 'libvpx', vp9: 'libvpx-vp9' };

export interface TrackPlan {
  /** Parameters of the input. */
  readonly decoder: readonly string[];
  readonly parameters: readonly string[];
  readonly kept: readonly Track[];
  readonly lost: readonly Track[];
  readonly losesAlpha: boolean;
  readonly mixedDown: readonly Track[];
}

export function planTracks({ inputFormat, outputFormat }: EngineRequest, tracks: readonly Track[]): TrackPlan {
  const container = containers[outputFormat] ?? soundAlone;
  const isCover = ({ disposition }: Track) => disposition.attached_pic === 1;
  const of = (type: string) => tracks.filter((track) => track.codec_type === type && !isCover(track));
  const sounds = of('audio').slice(0, { none: 0, one: 1, many: Infinity }[container.sounds]);
  const pictures = container.pictures ? of('video').slice(0, 1) : [];
  if (sounds.length + pictures.length === 0) {
    throw new ConversionFailure(
      `The ${inputFormat} file has no ${container.pictures ? 'pictures' : 'sound'}, so that no ${outputFormat} can be made of it.`,
    );
  }
  const covers = container.cover === true ? tracks.filter(isCover).slice(0, 1) : [];
  const subtitles = of('subtitle').flatMap((track) => {
    const codec = subtitleCodec(container, track);
    return codec === undefined ? [] : [{ track, codec }];
  });
  const attachments = outputFormat === 'mkv' ? of('attachment') : [];
  const kept = [...pictures, ...sounds, ...covers, ...subtitles.map(({ track }) => track), ...attachments];
  // A sound that is extracted from a film needs neither its pictures nor its subtitles.
  const wanted = container.pictures ? tracks : tracks.filter((track) => track.codec_type === 'audio' || isCover(track));
  const decoder = pictures.flatMap(({ index, codec_name: codec, tags }) => {
    // In capitals in a file that FFmpeg made from another.
    const name = (tags['alpha_mode'] ?? tags['ALPHA_MODE']) === '1' ? alphaDecoders[codec] : undefined;
    return name === undefined ? [] : [`-c:${index}`, name];
  });
  const isAlpha = ({ pix_fmt: format }: Track) => /^(yuva|ya|argb|rgba|abgr|bgra|gbrap)/.test(format);
  const hasAlpha = decoder.length > 0 || pictures.some(isAlpha);
  const keepsAlpha = outputFormat === 'webm' || outputFormat === 'gif';
  return {
    decoder,
    parameters: [
      ...kept.flatMap(({ index }) => ['-map', `0:${index}`]),
      ...(pictures.length > 0 && outputFormat !== 'gif' ? pictureParameters(hasAlpha && keepsAlpha) : []),
      ...covers.flatMap(() => [`-c:v:${pictures.length}`, 'copy', `-disposition:v:${pictures.length}`, 'attached_pic']),
      ...subtitles.flatMap(({ codec }, at) => [`-c:s:${at}`, codec]),
      ...(attachments.length > 0 ? ['-c:t', 'copy'] : []),
      ...(sounds.length > 0 ? soundParameters(container) : []),
      ...(outputFormat === 'aiff' ? ['-write_id3v2', '1'] : []),
      // These formats keep title, artist and the like in the sound track, not in the file.
      ...(/^(ogg|opus)$/.test(inputFormat) ? ['-map_metadata', `0:s:${sounds[0]?.index ?? 0}`] : []),
    ],
    kept,
    // Data tracks are for the program that made the file.
    lost: wanted.filter((track) => !kept.includes(track) && track.codec_type !== 'data'),
    losesAlpha: hasAlpha && !keepsAlpha,
    mixedDown: container.stereo === undefined ? [] : sounds.filter(({ channels }) => channels > 2),
  };
}

/** The colour format that every player shows needs an even size; an odd one gets a line of black. */
function pictureParameters(keepsAlpha: boolean): string[] {
  return ['-pix_fmt:v:0', keepsAlpha ? 'yuva420p' : 'yuv420p', '-filter:v:0', 'pad=ceil(iw/2)*2:ceil(ih/2)*2'];
}

function soundParameters({ stereo }: Container): string[] {
  if (stereo === undefined) return [];
  const rates = stereo === true ? '' : `sample_rates=${stereo}:`;
  return ['-filter:a', `aformat=${rates}channel_layouts=mono|stereo`];
}

function subtitleCodec({ subtitles, keeps }: Container, { codec_name: codec }: Track): string | undefined {
  if (keeps?.test(codec) === true) return 'copy';
  return textSubtitles.test(codec) ? subtitles : undefined;
}

const kinds: Readonly<Record<string, string>> = { audio: 'sound', video: 'pictures', subtitle: 'subtitles' };

/** For example `sound 2 (deu, Commentary)`, with its number in the file, from 1. */
export function trackName({ index, codec_type: type, codec_name: codec, tags, disposition }: Track): string {
  const kind = disposition.attached_pic === 1 ? 'cover' : (kinds[type] ?? type);
  const { language, title } = tags;
  const details = [language === 'und' ? undefined : language, title].filter(Boolean);
  return `${kind} ${index + 1} (${details.length > 0 ? details.join(', ') : codec})`;
}

const descriptive =
  /^(title|artist|album|album_artist|composer|date|genre|track|comment|description|lyrics|copyright)$/i;

/** Names of the tags of `from` whose values `to` lacks under any name. */
export function lostTags(from: Film, to: Film): string[] {
  const { tags: ofSound = {} } = from.streams.find(({ codec_type: type }) => type === 'audio') ?? {};
  const kept = new Set([to.format, ...to.streams].flatMap(({ tags }) => Object.values(tags)));
  const all = Object.entries({ ...ofSound, ...from.format.tags });
  const lost = all.filter(([name, value]) => descriptive.test(name) && !kept.has(value));
  return [...new Set(lost.map(([name]) => name.toLowerCase()))];
}

/** Duration of these tracks in seconds, if the file states it. */
export function secondsOf({ streams, format, isTimeGuessed }: Film, tracks: readonly Track[]): number | undefined {
  if (isTimeGuessed) return undefined;
  const isShown = ({ codec_type: type, disposition }: Track) =>
    /^(audio|video)$/.test(type) && disposition.attached_pic !== 1;
  const known = tracks.filter(isShown).flatMap(({ duration }) => duration ?? []);
  if (known.length > 0) return Math.max(...known);
  // The duration of the file is that of its longest track, whichever that is.
  return streams.every((track) => tracks.includes(track)) ? format.duration : undefined;
}
