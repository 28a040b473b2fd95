import { spawn } from 'node:child_process';
import { closeSync, existsSync, readFileSync, statSync } from 'node:fs';
import { Session } from 'node:inspector';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { printable } from 'temporal-file-conversion/messages';
import type { CommandContext } from '../command-context';
import { CommandError, exitCodes, throwIfAny, type ExitCode } from '../command-error';
import { endLeftOverServer, tryProcessLock } from '../dev-server';
import { openForLog } from '../observability/log-file';
import { bothTimes } from '../output/text';
import { aborted, isAlive, untilAskedToEnd } from '../process/asked-to-end';
import { readLiveStack, readStackHolder, type StackRecord } from '../stack/stack-record';
import { databaseOf, ifDiskIsFull, lockOf, logsOf, makeLogFolder, startStack, stopLimitMs } from '../stack/start-stack';
import { logNames } from './arguments';

const lookMs = 100;
const convertIt = 'fileconv convert FILE --to pdf';

export async function up(context: CommandContext, options: { ui?: boolean; detach?: boolean }): Promise<void> {
  if (options.detach === true) return upDetached(context, options);
  const { output, config } = context;
  const stateDir = config.values.state.dir;
  const signal = untilAskedToEnd(context);
  const stack = await startStack(context, { startedBy: 'up', ui: options.ui, signal }).catch((error: unknown) => {
    if (!signal.aborted) throw error;
    throw new CommandError('INTERRUPTED', ['Interrupted while it started.'], { cause: error });
  });
  if (!stack) throw new CommandError('STACK_RUNNING', [await describeHolder(stateDir)]);
  try {
    output.result(
      stack.record,
      `${describe(stack.record, stateDir)}\n\nNext, in another terminal: ${convertIt}\nCtrl-C stops everything.`,
    );
    collectGarbage();
    await Promise.race([aborted(signal), stack.failed]);
    output.say(
      'Stopping; unfinished jobs continue with the next `fileconv up`. Press Ctrl-C again to stop without waiting.',
    );
  } finally {
    await stack.stop();
  }
}

/** Frees some 40 MB that only the start needed, and that V8 would keep while the process is idle. */
function collectGarbage(): void {
  const session = new Session();
  session.connect();
  // Deferred: disconnecting within the callback would deadlock on the session's lock.
  session.post('HeapProfiler.collectGarbage', () => setImmediate(() => session.disconnect()));
}

/** Starts this program in a detached process, with its output in a log. */
async function upDetached(context: CommandContext, { ui }: { ui?: boolean }): Promise<void> {
  const { output, config, cwd, env } = context;
  const stateDir = config.values.state.dir;
  const signal = untilAskedToEnd(context);
  await makeLogFolder(context);
  const lock = await tryProcessLock(lockOf(stateDir)).catch(async (error: unknown) => {
    throw await ifDiskIsFull(context, error);
  });
  if (!lock) throw new CommandError('STACK_RUNNING', [await describeHolder(stateDir)]);
  lock.release();
  const logFile = logOf(stateDir, 'up');
  const log = openForLog(logFile);
  const sizeBefore = statSync(logFile).size;
  const main = path.join(__dirname, '../main.js');
  const options = [
    ...(config.file === undefined || config.isFound ? [] : ['--config', config.file]),
    ...(ui === false ? ['--no-ui'] : []),
  ];
  const child = spawn(process.execPath, [main, 'up', ...options], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', log, log],
  });
  closeSync(log);
  const ended = new Promise<void>((resolve) => child.once('close', resolve).once('error', resolve));
  for (;;) {
    const record = await readLiveStack(stateDir);
    if (record !== undefined && record.pid === child.pid) {
      child.unref();
      output.result(
        record,
        `${describe(record, stateDir)}\n\nIt runs in the background. Stop it: fileconv down\nNext: ${convertIt}`,
      );
      return;
    }
    if (signal.aborted) child.kill('SIGTERM');
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) break;
    await Promise.race([ended, sleep(lookMs)]);
  }
  if (signal.aborted) throw new CommandError('INTERRUPTED', ['Interrupted while it started.']);
  const added = readFileSync(logFile).subarray(sizeBefore).toString().trim();
  if (added !== '') throwIfAny('STACK_FAILED', added.replace(/^error: /gm, '').split('\n'));
  throw await ifDiskIsFull(context, new CommandError('STACK_FAILED', [`It ended at once. See ${logFile}`]));
}

/** Stops this folder's `fileconv up`. No error if none runs. */
export async function down(context: CommandContext): Promise<void> {
  const { output, config } = context;
  const stateDir = config.values.state.dir;
  const signal = untilAskedToEnd(context);
  const holder = await readStackHolder(stateDir);
  const isLeft = await endLeftOver(stateDir);
  if (!holder || isLeft !== undefined) {
    const left = isLeft ? ' The Temporal server of one that was killed is stopped.' : '';
    output.result({ stopped: isLeft === true }, `No stack runs in ${stateDir}.${left}`);
    return;
  }
  if (holder.startedBy === 'command') throw new CommandError('STACK_RUNNING', [await describeHolder(stateDir)]);
  process.kill(holder.pid, 'SIGTERM');
  output.say(`Stopping process ${holder.pid}; unfinished jobs continue with the next \`fileconv up\`.`);
  const asked = aborted(signal);
  const latest = Date.now() + stopLimitMs(config.values);
  while (isAlive(holder.pid)) {
    if (signal.aborted) throw new CommandError('INTERRUPTED', [`Process ${holder.pid} is still stopping.`]);
    if (Date.now() > latest) throw new CommandError('STACK_FAILED', [hangs(holder.pid)]);
    await Promise.race([asked, sleep(lookMs)]);
  }
  output.result({ stopped: true, pid: holder.pid }, 'Stopped.');
}

function hangs(pid: number): string {
  const risk = 'a conversion that it is submitting may be charged twice';
  return `Process ${pid} does not stop. If nothing moves in its logs (fileconv logs), end it; ${risk}: kill -9 ${pid}; fileconv down`;
}

export async function status({ output, config }: CommandContext): Promise<ExitCode> {
  const stateDir = config.values.state.dir;
  const record = await readLiveStack(stateDir);
  if (record) {
    output.result({ running: true, ...record }, `${describe(record, stateDir)}\n\nStop it: fileconv down`);
    return exitCodes.ok;
  }
  output.result({ running: false }, `No stack runs in ${stateDir}. Start one: fileconv up --detach`);
  return exitCodes.failed;
}

/** Prints the last lines of a stack's logs, even after it has ended; with `follow`, also new lines until Ctrl-C. */
export async function logs(
  context: CommandContext,
  part: (typeof logNames)[number] | undefined,
  { lines, follow }: { lines: number; follow?: boolean },
): Promise<void> {
  const { output, config } = context;
  if (follow && output.json)
    throw new CommandError('USAGE', ['--follow has no end, and --json is one document. Leave out one of them.']);
  const files = (part === undefined ? logNames : [part]).map((name) => ({
    name,
    file: logOf(config.values.state.dir, name),
    read: 0,
  }));
  const written = files.filter(({ file }) => existsSync(file));
  if (written.length === 0)
    throw new CommandError('INPUT_UNUSABLE', [
      `There is no log in ${logsOf(config.values.state.dir)}. \`fileconv up\` writes it.`,
    ]);
  const show = (name: string, shown: readonly string[]) => {
    if (shown.length > 0)
      output.print([...(part === undefined ? [`==> ${name} <==`] : []), ...shown].map(printable).join('\n'));
  };
  const tails = written.map((log) => {
    const text = readFileSync(log.file);
    log.read = text.length;
    return { part: log.name, lines: linesOf(text, lines) };
  });
  if (output.json) output.printJson({ logs: tails });
  else for (const log of tails) show(log.part, log.lines);
  const signal = untilAskedToEnd(context);
  const asked = aborted(signal);
  while (follow === true && !signal.aborted && context.stdout.writable) {
    await Promise.race([asked, sleep(lookMs)]);
    for (const log of files) {
      const size = statSync(log.file, { throwIfNoEntry: false })?.size ?? 0;
      // The log was too long and was truncated.
      if (size < log.read) log.read = 0;
      if (size === log.read) continue;
      const text = readFileSync(log.file).subarray(log.read);
      log.read += text.length;
      show(log.name, linesOf(text));
    }
  }
}

function linesOf(text: Buffer, most = Infinity): string[] {
  return text.toString().trimEnd().split('\n').slice(-most).filter(Boolean);
}

function logOf(stateDir: string, name: (typeof logNames)[number]): string {
  return path.join(logsOf(stateDir), `${name}.log`);
}

/** Ends the Temporal server that a killed stack left behind; returns whether there was one. Undefined: a stack runs. */
async function endLeftOver(stateDir: string): Promise<boolean | undefined> {
  // No stack has ever run here.
  if (!existsSync(lockOf(stateDir))) return false;
  const lock = await tryProcessLock(lockOf(stateDir));
  return lock && endLeftOverServer(databaseOf(stateDir)).finally(() => lock.release());
}

function describe({ temporal, service, callbacks, codec, taskQueue }: StackRecord, stateDir: string): string {
  return [
    `Temporal            ${temporal.address} (namespace ${temporal.namespace})`,
    ...(temporal.uiUrl === undefined ? [] : [`Temporal UI         ${temporal.uiUrl}`]),
    `Conversion service  ${service.url}`,
    ...(callbacks === undefined ? [] : [`Callbacks           ${callbacks.url}`]),
    ...(codec === undefined ? [] : [`Codec server        ${codec.url}`]),
    `Worker              task queue ${taskQueue}`,
    `State and logs      ${stateDir}`,
  ].join('\n');
}

async function describeHolder(stateDir: string): Promise<string> {
  const holder = await readStackHolder(stateDir);
  if (!holder) return `Another fileconv process holds the stack of ${stateDir}. Try again in a moment.`;
  const { pid, startedBy } = holder;
  const since = bothTimes(new Date(holder.since));
  if (startedBy === 'command') {
    return `Process ${pid}, a fileconv command, has run the stack of ${stateDir} for itself since ${since}. Try again when it has ended.`;
  }
  const record = await readLiveStack(stateDir);
  if (!record) {
    return `Process ${pid} has been starting the stack of ${stateDir} since ${since}. Use it as soon as it is there (\`fileconv convert ...\`), or stop it: fileconv down`;
  }
  const { uiUrl } = record.temporal;
  const where = uiUrl === undefined ? '' : ` Its Temporal UI is ${uiUrl}.`;
  return `Process ${pid} has run the stack of ${stateDir} since ${since}.${where} Use it (\`fileconv convert ...\`), or stop it: fileconv down`;
}
