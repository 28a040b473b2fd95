import Sequencer from '@jest/test-sequencer';

/** What takes longest, so that it does not run alone at the end: jest itself goes by size where it has no earlier times. */
const longest = [
  'test/recovery/chaos-batch.slow',
  'packages/cli/test/batch-resume.slow',
  'packages/cli/test/interrupted.slow',
  'test/recovery/stack-killed.slow',
  'test/recovery/credits-restored.slow',
  'test/package/package.slow',
  'test/workflows/batch-limits.slow',
  'packages/cli/test/real-account.slow',
  'packages/cli/test/up.slow',
  'packages/cli/test/waiting.slow',
  'packages/cli/test/use-stack.slow',
  'test/workflows/conversion-batch-runs.slow',
  'packages/cli/test/batch',
  'test/recovery/chaos',
  'test/recovery/batch-killed',
  'test/workflows/conversion-batch',
  'test/workflows/conversion-job',
  'packages/cli/test/convert',
  'packages/cli/test/job-commands',
  'test/workflows/contradictions',
  'test/recovery/worker-killed',
];

export default class LongestFirst extends Sequencer {
  sort(tests) {
    const place = ({ path }) => {
      const at = longest.findIndex((name) => path.endsWith(`/${name}.test.ts`));
      return at === -1 ? longest.length : at;
    };
    return super.sort(tests).sort((a, b) => place(a) - place(b));
  }
}
