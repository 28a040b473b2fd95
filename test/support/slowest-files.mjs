import path from 'node:path';

/** Prints the ten slowest test files at the end of a run. */
export default class SlowestFiles {
  onRunComplete(_contexts, { testResults }) {
    if (testResults.length < 10) return;
    const seconds = ({ perfStats: { start, end } }) => (end - start) / 1_000;
    const slowest = [...testResults].sort((a, b) => seconds(b) - seconds(a)).slice(0, 10);
    const all = testResults.reduce((sum, result) => sum + seconds(result), 0);
    console.log(`\nThe slowest of ${testResults.length} files, which took ${all.toFixed(0)} s one after the other:`);
    for (const result of slowest) {
      console.log(`${seconds(result).toFixed(0).padStart(5)} s  ${path.relative(process.cwd(), result.testFilePath)}`);
    }
  }
}
