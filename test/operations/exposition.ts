export interface Sample {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** The samples of a metrics endpoint in Prometheus' text format. */
export class Exposition {
  readonly samples: readonly Sample[];

  constructor(readonly text: string) {
    this.samples = text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map(readSample);
  }

  static async scrape(url: string): Promise<Exposition> {
    const response = await fetch(url);
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}.`);
    return new Exposition(await response.text());
  }

  /** The sum of all samples with this name and these labels; undefined if there are none. */
  sum(name: string, labels: Record<string, string> = {}): number | undefined {
    const wanted = Object.entries(labels);
    const found = this.samples.filter(
      (sample) => sample.name === name && wanted.every(([label, value]) => sample.labels[label] === value),
    );
    return found.length === 0 ? undefined : found.reduce((total, { value }) => total + value, 0);
  }

  names(): Set<string> {
    return new Set(this.samples.map(({ name }) => name));
  }

  /** Declared names, such as `x_seconds` for samples `x_seconds_bucket` and so on. */
  declaredNames(): string[] {
    return [...this.text.matchAll(/^# TYPE (\S+) /gm)].map(([, name = '']) => name);
  }
}

function readSample(line: string): Sample {
  const [, name, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`Not a sample: ${line}`);
  const pairs = [...labels.matchAll(/([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g)].map(([, label = '', text = '']) => [
    label,
    text,
  ]);
  return { name, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) };
}
