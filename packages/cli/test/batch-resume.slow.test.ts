import { convertedPictures, countConvertRequests, folderWithPictures, writePicture } from './batch-pictures';
import type { CommandOptions, Ended } from './fileconv';
import { fileconv, linesOf, removeFolders, startProcess } from './fileconv';
import { startStack, type RunningStack } from './running-stack';

afterAll(removeFolders);

const total = 30;
const args = ['batch', 'run', 'in', '--to', 'gif', '--out', 'out', '--name', 'pictures', '--window', '8'];

/** Types the command, and Ctrl-C when some files are converted. */
async function interruptedRun(options: CommandOptions): Promise<{ ended: Ended; converted: number[] }> {
  const command = startProcess(args, options);
  await convertedPictures(options.cwd, { total, wanted: 5 });
  command.child.kill('SIGINT');
  const ended = await command.ended;
  return { ended, converted: await convertedPictures(options.cwd, { total, wanted: 5 }) };
}

async function changeThree(folder: string, converted: readonly number[]): Promise<void> {
  for (const n of converted.slice(0, 3)) await writePicture(folder, n, 1);
}

const runAgain = (options: CommandOptions) => fileconv(args, options);

describe('batch run that was interrupted, typed again after three sources changed', () => {
  let stack: RunningStack | undefined;
  afterEach(async () => {
    await stack?.stop();
    stack = undefined;
  });

  it('converts those three and what was not finished, and pays for nothing twice, on a stack that continues', async () => {
    stack = await startStack();
    const cwd = await folderWithPictures(total);
    const options = { cwd, env: stack.env };
    const { ended, converted } = await interruptedRun(options);
    expect(ended).toMatchObject({ code: 130, stdout: '' });
    expect(linesOf(ended.stderr)).toEqual([
      'Batch pictures: 30 files to convert.',
      'Detached from batch pictures. It continues without this command. Come back: fileconv batch watch pictures',
    ]);
    await changeThree(cwd, converted);

    const again = await runAgain(options);
    expect(linesOf(again.stderr).at(-1)).toBe('Batch pictures: 3 files to convert, 27 files done before.');
    expect(again.code).toBe(0);
    expect(linesOf(again.stdout)[0]).toBe(
      'All 30 files are done. 3 converted; 27 skipped: their results are there already.',
    );
    expect(await countConvertRequests(options)).toBe(total + 3);

    const third = await runAgain(options);
    expect(third).toMatchObject({ code: 0, stdout: 'Batch pictures: nothing to do, 30 files done before.\n' });
    expect(await countConvertRequests(options)).toBe(total + 3);
  });

  it('does the same when the stack ended with the command', async () => {
    const cwd = await folderWithPictures(total);
    const { ended, converted } = await interruptedRun({ cwd });
    expect(ended).toMatchObject({ code: 130, stdout: '' });
    expect(linesOf(ended.stderr).at(-1)).toBe(
      'Detached from batch pictures. It stands still until a stack runs here. Come back: the same command again, or `fileconv up` and then: fileconv batch watch pictures',
    );
    expect(converted.length).toBeLessThan(total);
    await changeThree(cwd, converted);

    const again = await runAgain({ cwd });
    // Between the two stands progress, when a job that lost its callback waits for the next poll.
    const lines = linesOf(again.stderr);
    expect(lines[1]).toBe(
      'Batch pictures is running already, as it was started: watching it. What is left or has changed is converted afterwards, as this command says.',
    );
    expect(lines.at(-1)).toBe('Batch pictures: 3 files to convert, 27 files done before.');
    expect(again.code).toBe(0);
    expect(linesOf(again.stdout)[0]).toBe(
      'All 30 files are done. 3 converted; 27 skipped: their results are there already.',
    );
    expect(await countConvertRequests({ cwd })).toBe(total + 3);
  });
});
