import { ConversionTimes } from '../../src/activities/pauses';

const pair = 'embedded .docx pdf';

describe('ConversionTimes', () => {
  it('knows nothing of a pair that it has not seen', () => {
    const times = new ConversionTimes();
    times.observe('embedded .md pdf', { notYetMs: 0, doneMs: 500 });
    expect(times.firstCheckMs(pair)).toBeUndefined();
  });

  it('lets the first check find most of the conversions done', () => {
    const times = new ConversionTimes();
    for (const durationSeconds of [1, 1, 1, 8]) times.observe(pair, { notYetMs: 0, doneMs: 10_000, durationSeconds });
    expect(times.firstCheckMs(pair)).toBeGreaterThan(1_000);
    expect(times.firstCheckMs(pair)).toBeLessThan(1_300);
  });

  it('counts the time in line at the service, which the figure of the service leaves out', () => {
    const times = new ConversionTimes();
    times.observe(pair, { notYetMs: 30_000, doneMs: 40_000, durationSeconds: 1 });
    expect(times.firstCheckMs(pair)).toBeGreaterThanOrEqual(30_000);
  });

  it('learns of quick conversions, whose seconds a service rounds down to none, how quick they are', () => {
    const times = new ConversionTimes();
    for (let conversion = 0; conversion < 4; conversion += 1)
      times.observe(pair, { notYetMs: 60, doneMs: 340, durationSeconds: 0 });
    expect(times.firstCheckMs(pair)).toBeGreaterThan(200);
    expect(times.firstCheckMs(pair)).toBeLessThan(340);
  });

  it('comes soon to quick ones, also when every first check finds them done', () => {
    const times = new ConversionTimes();
    let doneMs = 60_000;
    for (let conversion = 0; conversion < 10; conversion += 1) {
      times.observe(pair, { notYetMs: 0, doneMs, durationSeconds: 0 });
      doneMs = times.firstCheckMs(pair) ?? 0;
      expect(doneMs).toBeLessThan(700);
    }
    expect(doneMs).toBeGreaterThan(100);
    expect(doneMs).toBeLessThan(400);
  });

  it('takes a figure in whole seconds for what it may stand for, when the answer before the last came just before the end', () => {
    const times = new ConversionTimes();
    times.observe(pair, { notYetMs: 2_000, doneMs: 8_200, durationSeconds: 2 });
    expect(times.firstCheckMs(pair)).toBeGreaterThan(2_400);
    expect(times.firstCheckMs(pair)).toBeLessThan(3_200);
  });

  it('never takes a conversion for longer than it was seen to be', () => {
    const times = new ConversionTimes();
    times.observe(pair, { notYetMs: 0, doneMs: 2_000, durationSeconds: 9_000 });
    expect(times.firstCheckMs(pair)).toBeLessThan(2_500);
  });

  it('comes earlier and earlier while every first check finds it done, and later again when one does not', () => {
    const times = new ConversionTimes();
    let doneMs = 10_000;
    for (let conversion = 0; conversion < 100; conversion += 1) {
      const isDone = doneMs >= 3_000;
      times.observe(pair, { notYetMs: isDone ? 0 : doneMs, doneMs: isDone ? doneMs : doneMs * 1.3 });
      doneMs = times.firstCheckMs(pair) ?? 0;
      expect(doneMs).toBeGreaterThan(2_000);
    }
    expect(doneMs).toBeLessThan(6_000);
  });

  it('forgets what is long ago', () => {
    const times = new ConversionTimes();
    times.observe(pair, { notYetMs: 0, doneMs: 60_000, durationSeconds: 60 });
    for (let conversion = 0; conversion < 20; conversion += 1) {
      times.observe(pair, { notYetMs: 0, doneMs: 1_000, durationSeconds: 1 });
    }
    expect(times.firstCheckMs(pair)).toBeLessThan(1_300);
  });

  it('keeps the pairs seen last, however many there are', () => {
    const times = new ConversionTimes();
    for (let index = 0; index < 5_000; index += 1) times.observe(`app f${index} pdf`, { notYetMs: 0, doneMs: 1 });
    expect(times.firstCheckMs('app f4999 pdf')).toBeDefined();
    expect(times.firstCheckMs('app f3000 pdf')).toBeUndefined();
  });
});
