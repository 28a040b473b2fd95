import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileconv, linesOf, newFolder, parseJson } from './fileconv';
import { sharedStackOfTests } from './running-stack';

const stack = sharedStackOfTests();

const header = 'source,output,destination\n';

async function runManifest(content: string, ...flags: string[]) {
  const cwd = await newFolder();
  await writeFile(path.join(cwd, 'a.md'), '# A\n');
  await writeFile(path.join(cwd, 'm.csv'), content);
  const name = randomUUID();
  const ended = await fileconv(['batch', 'run', 'm.csv', '--name', name, ...flags], { cwd, env: stack.env });
  return { hasRun: existsSync(path.join(stack.stateDir, 'batches', name, 'run-0001')), ended };
}

/** None of their rows is good: those of which one is are in batch.test.ts. What can be wrong is in read-manifest and plan-manifest. */
describe('batch run with a manifest that is wrong', () => {
  it('is a clear error, exit code 2, and no run', async () => {
    const { hasRun, ended } = await runManifest(`${header}a.md,html,\n"b.md,html,\n`);
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(linesOf(ended.stderr)).toContainEqual(
      expect.stringMatching(/^error: m\.csv line 3: a quote .* never closed\./),
    );
    expect(hasRun).toBe(false);
  });

  it('names every row that is wrong, not the first alone, and with --json in one document', async () => {
    const { ended } = await runManifest(`${header}a.md,,\n,html,\nb.md,html,../x\n`, '--json', '--dry-run');
    expect(ended.code).toBe(2);
    expect(linesOf(ended.stderr)).toHaveLength(3);
    expect(parseJson(ended.stdout)).toEqual({
      error: {
        code: 'INPUT_UNUSABLE',
        message: expect.stringMatching(/line 2, column output.*\n.*line 3, column source.*\n.*line 4/) as unknown,
      },
    });
  });
});
