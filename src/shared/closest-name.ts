/** The known name closest to a misspelled one; `undefined` when none is close. */
export function closestName(name: string, known: Iterable<string>): string | undefined {
  let best: { name: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < (best?.distance ?? Infinity)) best = { name: candidate, distance };
  }
  // With more than a third of the letters wrong, a suggestion is only a guess.
  return best !== undefined && best.distance <= Math.max(1, Math.floor(name.length / 3)) ? best.name : undefined;
}

/** The fewest letters to insert, remove, replace or swap with a neighbor. */
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
