import { ConversionTimes } from '../../src/activities/pauses';

const pair = 'embedded .docx pdf';

describe('ConversionTimes', () => {
  it('knows nothing about a pair that it has not seen', () => {
    const times = new ConversionTimes();
    times.observe('embedded .md pdf', { notYetMs: 0, doneMs: 500 });
    expect(times.firstCheckMs(pair)).toBeUndefined();
  });

  it('times the first check so that it finds most of the conversions done', () => {
    const times = new ConversionTimes();
    for (const durationSeconds of [1, 1, 1, 8]) times.observe(pair, { notYetMs: 0, doneMs: 10_000, durationSeconds });
    expect(times.firstCheckMs(pair)).toBeGreaterThan(1_000);
    expect(times.firstCheckMs(pair)).toBeLessThan(1_300);
  });

  it("includes the time in the service's queue, which the reported duration leaves out", () => {
    const times = new ConversionTimes();
    times.observe(pair, { notYetMs: 30_000, doneMs: 40_000, durationSeconds: 1 });
    expect(times.firstCheckMs(pair)).toBeGreaterThanOrEqual(30_000);
  });

  it('learns the time of quick conversions whose reported duration is rounded down to 0 s', () => {
    const times = new ConversionTimes();
    for (let conversion = 0; conversion < 4; conversion += 1)
      times.observe(pair, { notYetMs: 60, doneMs: 340, durationSeconds: 0 });
    expect(times.firstCheckMs(pair)).toBeGreaterThan(200);
    expect(times.firstCheckMs(pair)).toBeLessThan(340);
  });

  it('checks quick conversions soon, even if every first check finds them done', () => {
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

  it('treats a duration in whole seconds as rounded down if the last "not yet" came just before the end', () => {
    const times = new ConversionTimes();
    times.observe(pair, { notYetMs: 2_000, doneMs: 8_200, durationSeconds: 2 });
    expect(times.firstCheckMs(pair)).toBeGreaterThan(2_400);
    expect(times.firstCheckMs(pair)).toBeLessThan(3_200);
  });

  it('never assumes a longer conversion than was observed', () => {
    const times = new ConversionTimes();
    times.observe(pair, { notYetMs: 0, doneMs: 2_000, durationSeconds: 9_000 });
    expect(times.firstCheckMs(pair)).toBeLessThan(2_500);
  });

  it('checks earlier while every first check finds the conversion done, and later again once one does not', () => {
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

  it('forgets old observations', () => {
    const times = new ConversionTimes();
    times.observe(pair, { notYetMs: 0, doneMs: 60_000, durationSeconds: 60 });
    for (let conversion = 0; conversion < 20; conversion += 1) {
      times.observe(pair, { notYetMs: 0, doneMs: 1_000, durationSeconds: 1 });
    }
    expect(times.firstCheckMs(pair)).toBeLessThan(1_300);
  });

  it('keeps the most recently seen pairs, however many there are', () => {
    const times = new ConversionTimes();
    for (let index = 0; index < 5_000; index += 1) times.observe(`app f${index} pdf`, { notYetMs: 0, doneMs: 1 });
    expect(times.firstCheckMs('app f4999 pdf')).toBeDefined();
    expect(times.firstCheckMs('app f3000 pdf')).toBeUndefined();
  });
});
