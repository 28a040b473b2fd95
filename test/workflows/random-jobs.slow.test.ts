import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { ConversionFailedError } from '../../src/client/conversion-handle';
import { inspectJob } from '../../src/client/operations/inspect-job';
import type { ConversionFailureDetails, ConversionJobResult } from '../../src/job/types';
import { chanceOf } from '../support/chance';
import { quickPolicies, rigOfAllTests } from '../support/conversion-worker';
import { type Fate, type PlayedTask, playedEndpoints, playService } from '../support/played-service';
import { resetWorkflow } from '../support/reset';
import { retryJob } from '../support/retry';

/*
 * Single jobs of one destination each, in which everything is left to chance: what the file holds, the options, the policies, who asks, how
 * each conversion ends, what becomes of the result, of the tasks and of the job's history. An accountant in the service, who knows nothing
 * of these histories, checks each submit and each result. The last job of each converts something new: what is still open marks it.
 */

const histories = 40;
const steps = 6;
/** Histories at a time. */
const together = 10;

const script = 'case $(cat "$1") in *bad*) exit 3 ;; esac';
const rig = rigOfAllTests({ checkCommand: { argv: ['/bin/sh', '-c', script, 'check'] } });

const fates: Fate[] = ['ok', 'ok', 'ok', 'ok', 'bad', 'cutRan', 'cutRan', 'cutNot', 'refused', 'fails'];

interface Task extends PlayedTask {
  life: Life;
  /** Content and options. */
  conversion: string;
  step: number;
}

interface Step {
  number: number;
  kind: 'start' | 'retry' | 'reset';
  /** For the submits of this step. */
  policy: 'fail' | 'resubmit';
  /** For what earlier steps have left open. */
  rule: 'fail' | 'resubmit';
  again: boolean;
  forgets: boolean;
  interrupt: { at: string; how: 'cancel' | 'terminate' } | undefined;
}

/** Knows what was paid for, without Temporal. */
class Life {
  readonly told: string[] = [];
  tasks: Task[] = [];
  workflowId = '';
  step: Step = {
    number: 0,
    kind: 'start',
    policy: 'fail',
    rule: 'fail',
    again: false,
    forgets: false,
    interrupt: undefined,
  };
  /** What was delivered, if nothing else may have been charged since. */
  private standing: string | undefined;
  /** What may have been charged, and no result tells of. */
  private open: Task[] = [];
  readonly chance: ReturnType<typeof chanceOf>;
  isWrong = false;
  /** What a terminated run was about to write may still be written. */
  mayWriteLate = false;

  constructor(
    readonly name: string,
    seed: number,
  ) {
    this.chance = chanceOf(seed);
  }

  wrong(problem: string): void {
    this.isWrong = true;
    this.told.push(`  WRONG: ${problem}`);
  }

  /** The step asks for this. Whoever converts something else, or again, gives up the task of before. */
  asks(conversion: string): void {
    if (this.step.again || this.open.at(-1)?.conversion !== conversion) {
      for (const task of this.open) task.isKnown = false;
    }
  }

  submit(conversion: string): Task {
    const { step } = this;
    const last = this.open.at(-1);
    if (!step.again) {
      if (this.standing === conversion) this.wrong(`${conversion} was delivered`);
      // Once something else was submitted, a job knows of the conversion before that only its mark.
      if (last?.conversion === conversion && this.tasks.at(-1)?.conversion === conversion) {
        if (last.isKnown && !last.isGone) this.wrong(`${conversion} could be fetched`);
        if ((last.step === step.number ? step.policy : step.rule) === 'fail')
          this.wrong(`${conversion} may be paid for`);
      }
    }
    const fate = this.chance.pick(fates);
    this.told.push(`  submit of ${conversion}: ${fate}`);
    const task = { id: randomUUID(), life: this, conversion, step: step.number, fate, isKnown: false, isGone: false };
    this.tasks.push(task);
    if (fate !== 'refused') {
      this.open.push(task);
      this.standing = undefined;
    }
    return task;
  }

  failed(task: Task): void {
    this.open = this.open.filter((each) => each !== task);
  }

  /** @param extra conversions of which the result tells besides its own. */
  delivered(taskId: string | undefined, extra: number): Task | undefined {
    const task = this.tasks.find(({ id }) => id === taskId);
    // Marks what is submitted next, not what is fetched.
    const marks = (each: Task) => task?.step === this.step.number || each.conversion === task?.conversion;
    const charged = this.open.filter((each) => each !== task && each.fate !== 'cutNot' && marks(each)).length;
    if (!task) this.wrong(`there is no task ${taskId}`);
    if (extra < charged) this.wrong(`${charged} more may be charged, and ${extra} are told`);
    if (extra >= this.tasks.length) this.wrong(`${extra} are told, of ${this.tasks.length} submits`);
    this.open = [];
    this.standing = task?.conversion;
    return task;
  }

  skipped(conversion: string): void {
    if (this.standing !== undefined && this.standing !== conversion) this.wrong(`${conversion} was not delivered`);
    // Each run that left something else open has told of it.
    this.open = [];
  }
}

const lives = new Map<string, Life>();
async function passing(life: Life, endpoint: string): Promise<void> {
  const { interrupt } = life.step;
  if (interrupt?.at !== endpoint) return;
  life.step.interrupt = undefined;
  life.mayWriteLate ||= interrupt.how === 'terminate';
  life.told.push(`  ${interrupt.how} at ${endpoint}`);
  const handle = rig.temporal.workflow.getHandle(life.workflowId);
  // A reset may have ended the run that asks.
  await handle[interrupt.how]().catch((error: unknown) => life.told.push(`  ${String(error)}`));
}

const resultOf = ({ fate, conversion }: Task) => `PK ${fate === 'bad' ? 'bad' : 'good'} ${conversion}`;

beforeAll(() => {
  playService<{ life: Life; content: string }, Task>(rig, {
    upload(body) {
      const [, content = '', name = ''] = /([A-Z])@(\w+)/.exec(body) ?? [];
      const life = lives.get(name);
      if (!life) throw new Error(`there is no ${name}`);
      return { life, content };
    },
    submit: ({ life, content }, { dpi }) => life.submit(`${content}${dpi ?? ''}`),
    passing: (endpoint, of) => passing('task' in of ? of.task.life : of.upload.life, endpoint),
    forgets: ({ life }) => life.step.forgets,
    failed: (task) => {
      task.life.failed(task);
    },
    resultOf,
  });
});

type End = Partial<ConversionJobResult> & Partial<Pick<ConversionFailureDetails, 'kept'>> & { code?: string };

async function endOf(job: Promise<ConversionJobResult>): Promise<End> {
  try {
    return await job;
  } catch (error) {
    if (error instanceof ConversionFailedError) return { ...(error.details as object), code: error.code };
    if (error instanceof Error && error.message.startsWith('the plan is to')) return { code: error.message };
    throw error;
  }
}

async function live(life: Life): Promise<void> {
  const { name } = life;
  const { random, mayBe, pick } = life.chance;
  const destination = path.join(rig.folder, 'out', `${name}.docx`);
  const read = async () => (existsSync(destination) ? readFile(destination, 'utf8') : undefined);
  let content = 'A';
  let parameters: { dpi?: number } = {};
  for (let number = 1; number <= steps + 1; number += 1) {
    const isLast = number > steps;
    if (isLast) content = 'Z';
    else if (mayBe(0.35)) content = pick(['A', 'B']);
    if (mayBe(0.3)) parameters = pick([{}, { dpi: 72 }]);
    const source = await rig.source(`${name}.md`, `${content}@${name}`);
    if (mayBe(0.15)) await rm(destination, { force: true });
    else if (existsSync(destination) && mayBe(0.2)) await writeFile(destination, 'mine');
    if (mayBe(0.1)) for (const task of life.tasks) task.isGone = true;
    const onExisting = isLast ? 'overwrite' : pick(['fail', 'overwrite', 'overwrite', 'skip'] as const);
    const [resubmit, again] = [mayBe(0.15), mayBe(0.1)];
    const kind =
      number === 1 || isLast ? 'start' : pick(['start', 'start', 'start', 'retry', 'retry', 'reset'] as const);
    const policy = isLast ? 'resubmit' : pick(['fail', 'resubmit'] as const);
    const isReset = kind === 'reset';
    const rule = (resubmit && !isReset) || (kind === 'start' && policy === 'resubmit') ? 'resubmit' : 'fail';
    const at = pick(playedEndpoints);
    const interrupt = !isLast && mayBe(0.3) ? { at, how: pick(['cancel', 'terminate'] as const) } : undefined;
    life.step = { number, kind, policy, rule, again: again && !isReset, forgets: !isLast && mayBe(0.2), interrupt };
    const before = await read();
    const request = {
      ...{ source, output: 'docx', destination, onExisting, parameters },
      policies: { ...quickPolicies, onUnknownOutcome: policy, check: 'command' as const },
    };
    life.workflowId = (await rig.client.jobStart(request)).workflowId;
    const { input } = kind === 'start' ? { input: { ...request } } : await inspectJob(rig.temporal, life.workflowId);
    life.step.policy = input.policies?.onUnknownOutcome ?? policy;
    const asked = `${content}${(input.parameters as { dpi?: number } | undefined)?.dpi ?? ''}`;
    life.told.push(`${number}. ${asked} over ${before}: ${JSON.stringify({ ...life.step, onExisting, resubmit })}`);
    life.asks(asked);
    const job = async () => {
      if (kind === 'start') return (await rig.client.start(request, { resubmit, again })).result();
      if (kind === 'retry') return (await retryJob(rig.temporal, life.workflowId, { resubmit, again })).result();
      await resetWorkflow(rig.temporal, life.workflowId, random());
      return rig.client.get(life.workflowId).result();
    };
    const end = await endOf(job());
    const after = await read();
    const { status, code, charge, taskId, possiblyChargedExtra = 0, recalled, kept } = end;
    life.told.push(
      `  ${JSON.stringify({ status, code, charge, taskId, possiblyChargedExtra, recalled, kept })}: ${after}`,
    );
    if (status === 'succeeded' || (code === 'RESULT_SUSPECT' && !kept)) {
      const task = life.delivered(taskId, possiblyChargedExtra);
      if (task && kind !== 'reset') {
        if (task.conversion !== asked) life.wrong(`it is ${task.conversion}`);
        if (status === 'succeeded' && after !== resultOf(task)) life.wrong(`the file is ${after}`);
      }
    } else if (recalled && kind !== 'reset') life.skipped(asked);
    const isKept = after === before || input.onExisting === 'overwrite' || life.mayWriteLate;
    if (before === 'mine' && !isKept) life.wrong('it was edited by hand');
  }
}

it('converts and charges nothing twice without telling, whatever happens to single jobs', async () => {
  const all = Array.from({ length: histories }, (_, index) => new Life(`h${index}`, index));
  const waiting = [...all];
  const work = async () => {
    for (let life = waiting.shift(); life; life = waiting.shift()) {
      lives.set(life.name, life);
      await live(life).catch((error: unknown) => life.wrong(String(error)));
    }
  };
  await Promise.all(Array.from({ length: together }, work));
  const wrong = all.filter(({ isWrong }) => isWrong).map(({ name, told }) => [name, ...told].join('\n'));
  if (wrong.length > 0) throw new Error(wrong.join('\n\n'));
});
