import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { jobIdOf } from '../../src/job/job-id';
import { chanceOf } from './chance';
import type { ConversionRig } from './conversion-worker';
import { type Fate, type PlayedTask, playedEndpoints, playService } from './played-service';
import { resetWorkflow } from './reset';

/* The accountant of `random-batches.nightly.test.ts`, whom the service tells everything. */

export const kinds = ['folder', 'manifest', 'shared', 'hot'] as const;
const fates: Fate[] = ['ok', 'ok', 'ok', 'ok', 'ok', 'bad', 'cutRan', 'cutRan', 'cutNot', 'refused', 'fails'];
const interrupts = [
  'cancel',
  'finish',
  'terminate',
  'terminate',
  'reset',
  'cancelJob',
  'terminateJob',
  'edit',
] as const;

interface Task extends PlayedTask {
  place: Place;
  /** Content and options. */
  conversion: string;
  /** Among the tasks of its place. */
  index: number;
  step: number;
}

export interface Wish {
  policy: 'fail' | 'resubmit';
  resubmit: boolean;
  again: boolean;
  onExisting: 'fail' | 'overwrite' | 'rename' | 'skip';
  window: number;
}

/** One destination: knows what was paid for, without Temporal. */
export class Place {
  readonly tasks: Task[] = [];
  /** What was delivered, if nothing else may have been charged since. */
  private standing: string | undefined;
  /** What may have been charged, and no result tells of. */
  open: Task[] = [];
  /** A hand has touched the result since it was delivered. */
  isTouched = false;
  /** Two conversions are asked for in this step. */
  isContested = false;
  wasContested = false;

  constructor(
    readonly life: Life,
    readonly name: string,
  ) {}

  get file(): string {
    return path.join(this.life.folder, 'out', this.name);
  }

  get jobId(): string {
    return jobIdOf(pathToFileURL(this.file).href);
  }

  wrong(problem: string): void {
    this.life.wrong(`${this.name}: ${problem}`);
  }

  /** Whoever converts something else, or again, gives up the task of before. */
  asks(conversion: string): void {
    if (this.life.wish.again || this.isContested || this.open.at(-1)?.conversion !== conversion)
      for (const task of this.open) task.isKnown = false;
  }

  submit(conversion: string): Task {
    const { wish, step, rule } = this.life;
    const last = this.open.at(-1);
    if (!wish.again) {
      if (this.standing === conversion) this.wrong(`${conversion} was delivered`);
      if (last?.conversion === conversion && this.tasks.at(-1)?.conversion === conversion) {
        if (last.isKnown && !last.isGone) this.wrong(`${conversion} could be fetched`);
        const isInJob = last.step >= step - (this.life.isCarried ? 1 : 0) && this.life.policy === 'resubmit';
        if (!isInJob && rule === 'fail') this.wrong(`${conversion} may be paid for`);
      }
    }
    const fate = this.life.isLast ? 'ok' : this.life.chance.pick(fates);
    const task = { id: randomUUID(), place: this, conversion, index: this.tasks.length, step, fate };
    const submitted = { ...task, isKnown: false, isGone: false };
    this.life.tell(`submit of ${conversion} to ${this.name}: ${fate} ${task.id.slice(0, 4)}`);
    this.tasks.push(submitted);
    this.isTouched = false;
    if (fate !== 'refused') {
      this.open.push(submitted);
      this.standing = undefined;
    }
    return submitted;
  }

  failed(task: Task): void {
    this.open = this.open.filter((each) => each !== task);
  }

  /** @param extra conversions of which the result tells besides its own. */
  delivered(taskId: string | undefined, extra: number, isBySkip: boolean): Task | undefined {
    const task = this.tasks.find(({ id }) => id === taskId);
    if (!task) {
      this.wrong(`there is no task ${taskId}`);
      return undefined;
    }
    if (isBySkip && this.wasContested) {
      // Each run that left something else open has told of it.
      this.open = [];
      return task;
    }
    const isTold = (each: Task) => each.index <= task.index;
    const charged = this.open.filter((each) => each !== task && each.fate !== 'cutNot' && isTold(each)).length;
    if (extra < charged) this.wrong(`${charged} more may be charged, and ${extra} are told`);
    if (extra >= this.tasks.length) this.wrong(`${extra} are told, of ${this.tasks.length} submits`);
    this.open = this.open.filter((each) => !isTold(each));
    if (this.open.length === 0) this.standing = task.conversion;
    return task;
  }
}

/** Written over a result by hand. */
export const hands = 'mine';
export const letters = ['A', 'B', 'C'];
export const resultOf = ({ fate, conversion, place }: Task) => {
  const padding = '.'.repeat(2 * conversion.charCodeAt(0) + conversion.length);
  return `PK ${fate === 'bad' ? 'bad' : 'good'} ${conversion} ${place.name} ${place.life.name}${padding}`;
};

/** One history. */
export class Life {
  readonly told: string[] = [];
  readonly chance: ReturnType<typeof chanceOf>;
  readonly kind: (typeof kinds)[number];
  readonly places = new Map<string, Place>();
  /** Content of each source, by its name. */
  sources = new Map<string, string>();
  batch = '';
  step = 0;
  wish: Wish = { policy: 'fail', resubmit: false, again: false, onExisting: 'fail', window: 50 };
  isSweep = false;
  isLast = false;
  interrupt: { at: string; how: (typeof interrupts)[number]; after: number } | undefined;
  forgets = false;
  isWrong = false;
  /** The jobs of a terminated batch may still run. */
  isCarried = false;
  edited = new Set<string>();
  outputs = ['docx'];
  action: 'run' | 'retry' | 'reset' = 'run';
  dpi: number | undefined;
  /** Contents of the sources that were put into a hot folder. */
  readonly drops: string[] = [];
  /** Uploads and submits. */
  requests = 0;

  readonly name: string;

  constructor(
    readonly rig: ConversionRig,
    seed: number,
  ) {
    this.name = `h${seed}`;
    this.chance = chanceOf(seed);
    this.kind = kinds[seed % kinds.length] ?? 'folder';
  }

  /** What may interrupt this step. */
  plans(isInterrupted: boolean): void {
    const { pick, random } = this.chance;
    const interrupt = { at: pick(playedEndpoints), how: pick(interrupts), after: Math.floor(random() * 4) };
    this.interrupt = isInterrupted ? interrupt : undefined;
  }

  get folder(): string {
    return path.join(this.rig.folder, this.name);
  }

  /** For what earlier jobs have left open. */
  get rule(): Wish['policy'] {
    return this.wish.resubmit || (this.wish.policy === 'resubmit' && !this.isSweep) ? 'resubmit' : 'fail';
  }

  /** For the submits of one job. */
  get policy(): Wish['policy'] {
    return this.wish.resubmit ? 'resubmit' : this.wish.policy;
  }

  tell(what: string): void {
    this.told.push(`  ${what}`);
  }

  wrong(problem: string): void {
    this.isWrong = true;
    this.tell(`WRONG: ${problem}`);
  }

  place(name: string): Place {
    const place = this.places.get(name) ?? new Place(this, name);
    this.places.set(name, place);
    return place;
  }

  async filesIn(folder: string): Promise<Map<string, string>> {
    const names = await readdir(path.join(this.folder, folder)).catch(() => []);
    const read = async (name: string) =>
      [name, await readFile(path.join(this.folder, folder, name), 'utf8').catch(() => '')] as const;
    return new Map(await Promise.all(names.filter((name) => !name.startsWith('.')).map(read)));
  }

  fileOf(source: string): string {
    return path.join(this.folder, 'in', `${source}.md`);
  }

  /** Removes a source. */
  async take(source: string): Promise<void> {
    await rm(this.fileOf(source), { force: true });
    this.sources.delete(source);
  }

  /** Before a step of a hot folder. @param failed what a retry will move back. */
  lookAround(inside: Map<string, string>, failed = new Map<string, string>()): void {
    this.sources.clear();
    for (const [name, text] of inside) this.sources.set(path.basename(name, '.md'), text.slice(0, 1));
    for (const [name, text] of failed) {
      if (!name.endsWith('.md')) continue;
      const source = name.replace(/( \(\d+\))?\.md$/, '');
      if (this.sources.has(source)) this.edited.add(source);
      else this.sources.set(source, text.slice(0, 1));
    }
  }

  /** After a step: `out` as it was, and as it is. */
  checkResults(before: Map<string, string>, after: Map<string, string>): void {
    for (const [name, text] of before) {
      const isKept = after.get(name) === text || this.wish.onExisting === 'overwrite';
      if (text === hands && !isKept) this.wrong(`${name} was edited by hand and is ${after.get(name)}`);
    }
    const results = new Set([hands]);
    for (const { tasks } of this.places.values()) for (const task of tasks) results.add(resultOf(task));
    for (const [name, text] of after) {
      const isSuspect = text.startsWith('PK bad') && !name.includes('.suspect');
      if (!results.has(text) || isSuspect) this.wrong(`${name} is ${text}`);
    }
  }

  /** After a step of a hot folder: each source is in one of the three, and was moved for a reason. */
  async checkFolders(doneBefore: Map<string, string>, failedBefore: Map<string, string>, results: Map<string, string>) {
    const [inside, done, failed] = (await Promise.all(['in', 'done', 'failed'].map((name) => this.filesIn(name)))) as [
      Map<string, string>,
      Map<string, string>,
      Map<string, string>,
    ];
    const isSource = ([name]: [string, string]) => name.endsWith('.md');
    const now = [inside, done, failed].flatMap((each) =>
      [...each].filter(isSource).map(([, text]) => text.slice(0, 1)),
    );
    const [are, were] = [now.sort().join(''), this.drops.sort().join('')];
    if (are !== were) this.wrong(`sources are ${are}, dropped were ${were}`);
    const placeOf = (name: string) => this.place(name.replace(/( \(\d+\))?\.md$/, '.docx'));
    for (const [name, text] of done) {
      if (doneBefore.get(name) === text) continue;
      const place = placeOf(name);
      const result = results.get(place.name) ?? '';
      this.tell(`done: ${name} ${text}`);
      if (!result.startsWith(`PK good ${text.slice(0, 1)} `) && !place.isTouched)
        this.wrong(`${name} is done with ${text}, and its result is ${result}`);
    }
    for (const [name, text] of failed) {
      if (failedBefore.get(name) === text || !name.endsWith('.md')) continue;
      this.tell(`failed: ${name} ${text}`);
      const open = placeOf(name).open.filter((each) => each.conversion === text.slice(0, 1) && each.fate !== 'cutNot');
      if (open.length > 0) this.wrong(`${name} has failed and may be charged`);
      if (!failed.has(`${name}.reason.txt`)) this.wrong(`${name} has no reason`);
    }
  }

  async put(source: string, content: string): Promise<void> {
    const file = this.fileOf(source);
    if (existsSync(file)) {
      const old = await readFile(file, 'utf8');
      this.drops.splice(this.drops.indexOf(old.slice(0, 1)), 1);
    }
    this.drops.push(content);
    const fresh = path.join(this.folder, `${source}.new`);
    await writeFile(fresh, `${content}@${this.name}`);
    await rename(fresh, file);
    this.sources.set(source, content);
  }
}

/** Interrupts the batch, or the job of this place, in the middle. */
async function passing(life: Life, endpoint: string, { jobId, name }: { jobId?: string; name?: string } = {}) {
  const { interrupt, batch } = life;
  if (interrupt?.at !== endpoint || (interrupt.after -= 1) >= 0) return;
  life.interrupt = undefined;
  const { how } = interrupt;
  life.tell(`${how} at ${endpoint} of ${name}`);
  const { temporal, client } = life.rig;
  const { workflow } = temporal;
  const act = async () => {
    if (how === 'cancel') await workflow.getHandle(batch).cancel();
    else if (how === 'finish') await client.getBatch(batch).cancel({ inFlight: 'finish' });
    else if (how === 'terminate') await workflow.getHandle(batch).terminate();
    else if (how === 'reset') await resetWorkflow(temporal, batch, life.chance.random());
    else if (how === 'edit') {
      const source = life.chance.pick([...life.sources.keys()]);
      if (!existsSync(path.join(life.folder, 'in', `${source}.md`))) return;
      life.edited.add(source);
      await life.put(source, life.chance.pick(letters));
    } else if (jobId !== undefined) {
      await workflow.getHandle(jobId)[how === 'cancelJob' ? 'cancel' : 'terminate']();
    }
  };
  await act().catch((error: unknown) => life.tell(String(error)));
}

interface Upload {
  life: Life;
  source: string;
  content: string;
}

export function playBatches(rig: ConversionRig, lives: Map<string, Life>): void {
  playService<Upload, Task>(rig, {
    upload(body) {
      const [, content = '', name = ''] = /([A-Z])@(\w+)/.exec(body) ?? [];
      const [, source = ''] = /filename="(\w+)\.md"/.exec(body) ?? [];
      const life = lives.get(name);
      if (!life) throw new Error(`there is no ${name}`);
      life.requests += 1;
      return { life, source, content };
    },
    submit({ life, source, content }, { dpi, output }) {
      life.requests += 1;
      return life.place(`${source}.${output}`).submit(`${content}${dpi ?? ''}`);
    },
    async passing(endpoint, of) {
      if ('task' in of) await passing(of.task.place.life, endpoint, of.task.place);
      else await passing(of.upload.life, endpoint, of.upload.life.places.get(`${of.upload.source}.docx`));
    },
    forgets: ({ place: { life } }) => life.forgets && life.chance.mayBe(0.3),
    failed: (task) => {
      task.place.failed(task);
    },
    resultOf,
  });
}
