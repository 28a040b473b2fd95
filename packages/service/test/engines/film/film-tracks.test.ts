import type { EngineRequest } from '../../../src/engines/conversion';
import { trackName, planTracks, filmSchema } from '../../../src/engines/film/film-tracks';

const { streams } = filmSchema.parse({
  streams: [
    { index: 0, codec_type: 'video', codec_name: 'h264', pix_fmt: 'yuv444p' },
    { index: 1, codec_type: 'audio', codec_name: 'aac', channels: 6, tags: { language: 'eng' } },
    { index: 2, codec_type: 'audio', codec_name: 'aac', channels: 2, tags: { language: 'deu', title: 'Commentary' } },
    { index: 3, codec_type: 'subtitle', codec_name: 'subrip' },
    { index: 4, codec_type: 'subtitle', codec_name: 'hdmv_pgs_subtitle', tags: { language: 'und' } },
    { index: 5, codec_type: 'video', codec_name: 'mjpeg', disposition: { attached_pic: 1 } },
    { index: 6, codec_type: 'data' },
  ],
});

function plan(outputFormat: string, tracks = streams) {
  const { parameters, lost, ...others } = planTracks({ inputFormat: 'mkv', outputFormat } as EngineRequest, tracks);
  const maps = parameters.flatMap((each, at) => (each === '-map' ? [parameters[at + 1]?.slice(2)] : [])).join('');
  return { line: parameters.join(' '), maps, lost: lost.map(trackName), ...others };
}

it.each([
  ['mkv', '01234', ['cover 6 (mjpeg)']],
  ['mp4', '01253', ['subtitles 5 (hdmv_pgs_subtitle)']],
  ['webm', '0123', ['subtitles 5 (hdmv_pgs_subtitle)', 'cover 6 (mjpeg)']],
  ['avi', '012', ['subtitles 4 (subrip)', 'subtitles 5 (hdmv_pgs_subtitle)', 'cover 6 (mjpeg)']],
  [
    'flv',
    '01',
    ['sound 3 (deu, Commentary)', 'subtitles 4 (subrip)', 'subtitles 5 (hdmv_pgs_subtitle)', 'cover 6 (mjpeg)'],
  ],
  ['mp3', '15', ['sound 3 (deu, Commentary)']],
  ['wav', '1', ['sound 3 (deu, Commentary)', 'cover 6 (mjpeg)']],
])('%s gets these tracks, and the others are reported', (output, maps, lost) => {
  expect(plan(output)).toMatchObject({
    maps: expect.stringMatching(new RegExp(`^[${maps}]{${maps.length}}$`)) as string,
    lost,
  });
});

it('gives pictures an even size and a pixel format that every player supports', () => {
  expect(plan('mp4').line).toMatch(/-pix_fmt:v:0 yuv420p -filter:v:0 pad=ceil\(iw\/2\)\*2:ceil\(ih\/2\)\*2/);
  expect(plan('gif', streams.slice(0, 1)).line).toBe('-map 0:0');
});

it('reports sound with more than two channels if the target has two', () =>
  expect([plan('wma').mixedDown.length, plan('m4a').mixedDown.length]).toEqual([1, 0]));

it('keeps transparency in webm, and reports its loss elsewhere', () => {
  const tracks = streams.map((track) => (track.index === 0 ? { ...track, pix_fmt: 'yuva420p' } : track));
  expect([plan('webm', tracks).losesAlpha, plan('mp4', tracks).losesAlpha]).toEqual([false, true]);
  expect(plan('webm', tracks).line).toContain('yuva420p');
});

it('refuses to make sound from a film without sound', () =>
  expect(() => plan('mp3', streams.slice(0, 1))).toThrow(
    'The mkv file has no sound, so that no mp3 can be made of it.',
  ));
