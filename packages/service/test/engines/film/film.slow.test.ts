import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { filmSchema } from '../../../src/engines/film/film-tracks';
import { serviceOfAllTests } from '../../support';
import { withPrograms } from '../with-packages';

/** FFmpeg drops what the target cannot hold without a word; the service must warn. */

withPrograms(['ffmpeg'], () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'film-'));
  const { client } = serviceOfAllTests({ conversionConcurrency: 1, engines: ['ffmpeg'] });

  const pictures = (size = '64x48') => ['-f', 'lavfi', '-i', `testsrc=size=${size}:rate=5:duration=1`];
  const sound = (source = 'sine=duration=1') => ['-f', 'lavfi', '-i', source];

  function made(name: string, ...parameters: string[]) {
    const file = path.join(folder, name);
    execFileSync('ffmpeg', ['-v', 'error', '-y', ...parameters, file], { stdio: ['ignore', 'inherit', 'inherit'] });
    return { name, data: readFileSync(file) };
  }

  function tracksOf(bytes: Buffer) {
    const file = path.join(folder, 'result');
    writeFileSync(file, bytes);
    const json = execFileSync('ffprobe', ['-v', 'error', '-show_streams', '-of', 'json', file], { encoding: 'utf8' });
    return filmSchema.parse(JSON.parse(json)).streams;
  }

  function tagsOf(bytes: Buffer) {
    const file = path.join(folder, 'result');
    writeFileSync(file, bytes);
    const shown = ['-show_entries', 'format_tags:stream_tags', '-of', 'json', file];
    const json = execFileSync('ffprobe', ['-v', 'error', ...shown], { encoding: 'utf8' });
    return ['Song', 'Somebody'].filter((value) => json.includes(`"${value}"`));
  }

  it('gives a film of odd size an even size and a common pixel format', async () => {
    for (const file of [
      made('odd.webm', ...pictures('63x47')),
      made('rgb.avi', ...pictures(), '-c:v', 'rawvideo', '-pix_fmt', 'bgr24'),
    ]) {
      const { bytes, warning } = await client.convertToBytes(file, 'mp4');
      expect(tracksOf(bytes)).toMatchObject([{ codec_name: 'h264', pix_fmt: 'yuv420p' }]);
      expect(warning).toEqual({});
    }
  });

  it('keeps all sounds and subtitles if the target can hold them, and reports the others', async () => {
    writeFileSync(path.join(folder, 's.srt'), '1\n00:00:00,000 --> 00:00:01,000\nHello\n');
    const inputs = [...pictures(), ...sound(), ...sound('sine=880:duration=1'), '-i', path.join(folder, 's.srt')];
    const maps = ['0', '1', '2', '3'].flatMap((input) => ['-map', input]);
    const film = made('all.mkv', ...inputs, ...maps, '-metadata:s:a:1', 'language=deu');
    for (const output of ['mp4', 'webm', 'mov']) {
      const { bytes, warning } = await client.convertToBytes(film, output);
      expect([output, tracksOf(bytes).map((track) => track.codec_type)]).toEqual([
        output,
        ['video', 'audio', 'audio', 'subtitle'],
      ]);
      expect(warning).toEqual({});
    }
    const { warning } = await client.convertToBytes(film, 'flv');
    expect(warning['TRACKS_LOST']).toMatch(/^2 track\(s\) .* flv .*: sound 3 \(deu\), subtitles 4 \(ass\)\./);
  });

  it.each(['libvpx', 'libvpx-vp9'])(
    'keeps the transparency of a WebM (%s) in WebM, and reports its loss elsewhere',
    async (codec) => {
      const pane = ['-f', 'lavfi', '-i', 'color=red@0.3:size=64x48:rate=5:duration=1,format=yuva420p'];
      const film = made(`${codec}.webm`, ...pane, '-c:v', codec, '-auto-alt-ref', '0');
      const { bytes, warning } = await client.convertToBytes(film, 'webm');
      writeFileSync(path.join(folder, 'result'), bytes);
      const read = ['-v', 'error', '-c:v', 'libvpx-vp9', '-i', path.join(folder, 'result'), '-frames:v', '1'];
      const pixels = execFileSync('ffmpeg', [...read, '-pix_fmt', 'rgba', '-f', 'rawvideo', '-']);
      expect(Math.round((pixels[3] ?? 0) / 25.5)).toBe(3);
      expect(warning).toEqual({});
      for (const each of [film, { name: 'a.webm', data: bytes }]) {
        expect(Object.keys((await client.convertToBytes(each, 'mp4')).warning)).toEqual(['TRANSPARENCY_LOST']);
      }
    },
  );

  it('keeps the files that are attached to an mkv in mkv', async () => {
    const font = path.join(folder, 'font.ttf');
    writeFileSync(font, 'a font');
    const attached = ['-attach', font, '-metadata:s:t', 'mimetype=application/x-truetype-font'];
    const { bytes, warning } = await client.convertToBytes(made('fonts.mkv', ...pictures(), ...attached), 'mkv');
    expect(tracksOf(bytes)).toMatchObject([{ codec_type: 'video' }, { tags: { filename: 'font.ttf' } }]);
    expect(warning).toEqual({});
  });

  it('keeps the cover of a sound', async () => {
    const cover = ['-map', '0', '-map', '1', '-frames:v', '1', '-c:v', 'mjpeg', '-disposition:v', 'attached_pic'];
    const { bytes, warning } = await client.convertToBytes(made('a.mp3', ...sound(), ...pictures(), ...cover), 'm4a');
    expect(tracksOf(bytes)).toMatchObject([{ codec_type: 'audio' }, { disposition: { attached_pic: 1 } }]);
    expect(warning).toEqual({});
  });

  it('keeps metadata in every format that supports it, and reports lost metadata and chapters elsewhere', async () => {
    const told = ['-metadata', 'title=Song', '-metadata', 'artist=Somebody'];
    for (const input of ['a.ogg', 'a.opus', 'a.m4a']) {
      const source = made(input, ...sound(), ...told);
      for (const output of ['mp3', 'flac', 'aiff', 'wav', 'ogg']) {
        const { bytes, warning } = await client.convertToBytes(source, output);
        expect([input, output, tagsOf(bytes), warning]).toEqual([input, output, ['Song', 'Somebody'], {}]);
      }
      const { warning } = await client.convertToBytes(source, 'aac');
      expect(warning['TAGS_LOST']).toMatch(/aac cannot hold it: (title, artist|artist, title)\./);
    }
    const list = path.join(folder, 'chapters');
    const chapter = (from: number) => `[CHAPTER]\nTIMEBASE=1/10\nSTART=${from}\nEND=${from + 5}\ntitle=Part\n`;
    writeFileSync(list, `;FFMETADATA1\n${chapter(0)}${chapter(5)}`);
    const book = made('a.m4a', ...sound(), '-i', list, '-map_chapters', '1');
    expect((await client.convertToBytes(book, 'mp3')).warning).toEqual({});
    expect((await client.convertToBytes(book, 'flac')).warning).toEqual({
      CHAPTERS_LOST: expect.stringMatching(/^2 chapter\(s\) .* flac cannot hold them\./) as string,
    });
  });

  it('reduces channels and sample rate to what the target supports', async () => {
    const six = made('six.wav', ...sound('anullsrc=channel_layout=5.1:sample_rate=96000'), '-t', '1');
    const { warning } = await client.convertToBytes(six, 'wma');
    expect(warning['SOUND_MIXED_DOWN']).toMatch(/sound 1 \(pcm_s16le\) had 6/);
  });

  it('reports a truncated file, as a warning or as an error', async () => {
    const whole = made('whole.mkv', ...sound('testsrc=duration=20'), ...sound('sine=duration=20'));
    const cut = { name: 'cut.mkv', data: whole.data.subarray(0, whole.data.length * 0.7) };
    expect((await client.convertToBytes(cut, 'mp4')).warning).toHaveProperty('INPUT_DAMAGED');
    const mp4 = made('whole.mp4', ...pictures());
    expect((await client.convert({ name: 'cut.mp4', data: mp4.data.subarray(0, 1_000) }, 'mkv')).error.message).toBe(
      'The mp4 file is damaged, cut off, or of another kind: it has no sound and no pictures that FFmpeg can find.',
    );
    const silent = await client.convert(mp4, 'mp3');
    expect(silent.error.message).toBe('The mp4 file has no sound, so that no mp3 can be made of it.');
  });

  it.each([
    ['mp3', 'wav', sound('sine=duration=6')],
    ['flv', 'mp4', [...pictures(), ...sound()].map((each) => each.replace('duration=1', 'duration=6'))],
  ])('converts the existing part of a truncated %s to %s, and reports the rest', async (format, output, inputs) => {
    const whole = made(`whole.${format}`, ...inputs);
    expect((await client.convertToBytes(whole, output)).warning).toEqual({});
    const cut = { ...whole, data: whole.data.subarray(0, whole.data.length / 2) };
    expect((await client.convertToBytes(cut, output)).warning).toMatchObject({
      INPUT_DAMAGED: expect.stringMatching(/^The file says that it lasts 6 s, and FFmpeg has found [234] s/) as string,
    });
  });
});
