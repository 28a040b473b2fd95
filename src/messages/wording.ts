/** `12,345`. */
export function formatCount(count: number): string {
  // Node takes 20 ms to load its locale data.
  if (Number.isInteger(count) && Math.abs(count) < 1_000) return String(count);
  return count.toLocaleString('en-US', { maximumFractionDigits: 2 });
}

/** `1 file`, `12,345 files`. */
export function counted(count: number, singular: string, plural = `${singular}s`): string {
  return `${formatCount(count)} ${count === 1 ? singular : plural}`;
}

/** For sources that could not be moved. `files` is 0 if none could be. */
export function unmovedMessage({ files, why }: { files: number; why: string }): string {
  return `${files === 0 ? 'Sources' : counted(files, 'source')} could not be moved; the next run tries again. ${why}`;
}

/** `twice`, `3 times`: how often a marked conversion may have been charged. */
export function timesCharged({ possiblyChargedExtra = 1 }: { possiblyChargedExtra?: number }): string {
  return possiblyChargedExtra === 1 ? 'twice' : `${formatCount(possiblyChargedExtra + 1)} times`;
}

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Why a file of this format is refused, and where to look; continues a sentence. */
export function noConverter(input: string, output: string): string {
  return `the service does not convert ${input} to ${output}. See what it converts ${input} to: fileconv formats ${input}`;
}

/** `0.85 s`, `12 s`, `3 min 20 s`, `5 h 2 min`, `2 d 4 h`: two figures suffice. */
export function formatDuration(ms: number): string {
  if (ms < 950) return `${Number((ms / 1_000).toPrecision(2))} s`;
  if (ms < 9_950) return `${(ms / 1_000).toFixed(1).replace(/\.0$/, '')} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3_600) return pair(Math.floor(seconds / 60), 'min', seconds % 60, 's');
  const minutes = Math.round(seconds / 60);
  if (minutes < 24 * 60) return pair(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  const hours = Math.round(minutes / 60);
  return pair(Math.floor(hours / 24), 'd', hours % 24, 'h');
}

function pair(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** Quotes a text as one word of a command line, if a shell would split or change it. */
export function shellWord(text: string): string {
  return /^[\w.:/@%+=,-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** `2026-11-21 08:41:41`, in UTC. */
export function shownTime(time: Date | number): string {
  return new Date(time).toISOString().slice(0, 19).replace('T', ' ');
}

/** `12.3 kB`, in powers of ten like file managers. */
export function fileSize(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let value = bytes;
  let unit = 0;
  // 999.95 and more would round to 1000.0.
  for (; value >= (unit === 0 ? 1_000 : 999.95) && unit < units.length - 1; unit += 1) value /= 1_000;
  return `${unit === 0 ? value : value.toFixed(1)} ${units[unit] ?? 'B'}`;
}

/**
 * Line breaks and escape codes in a file name or a response would corrupt a terminal or a page, and direction marks can display
 * `fdp.exe` as `exe.pdf`.
 */
const controlCharacters = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/** The text on one line, with control characters escaped: `\x1b`. */
export function printable(text: string): string {
  return text.replace(controlCharacters, (character) => {
    const code = character.charCodeAt(0);
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16)}`;
  });
}

/** Replaces unpaired surrogates, which UTF-8 cannot encode: in a failure they end the worker. */
export function wellFormed(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\ufffd');
}

/** Like `printable`, for JSON, with its `\u` escapes. Line breaks between its values stay. */
export function printableJson(json: string): string {
  return json.replace(controlCharacters, (character) =>
    character === '\n' ? character : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** The known name closest to a misspelled one; `undefined` if none is close. */
export function closestName(name: string, known: Iterable<string>): string | undefined {
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < (best?.distance ?? Infinity)) best = { name: candidate, distance };
  }
  // With more than a third of the letters wrong, a suggestion is only a guess.
  return best !== undefined && best.distance <= Math.max(1, Math.floor(name.length / 3)) ? best.name : undefined;
}

/** Minimum number of letters to insert, remove, replace or swap with a neighbor. */
function editDistance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  const cell = (cells: number[], index: number) => cells[index] ?? Infinity;
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const change = cell(row, j - 1) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const swapped = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swap = swapped ? cell(before, j - 2) + 1 : Infinity;
      next.push(Math.min(change, swap, cell(row, j) + 1, cell(next, j - 1) + 1));
    }
    before = row;
    row = next;
  }
  return cell(row, to.length);
}
