/** Where a value came from. */
export interface Origin {
  source: 'file' | 'environment';
  /** The path of the file, or the name of the variable. */
  where: string;
}

/** What one source says: values by dotted key in the file's spelling (`worker.task_queue`), and what is wrong with it. */
export interface Layer {
  values: Map<string, { value: unknown; origin: Origin }>;
  problems: string[];
  warnings: string[];
}

export function emptyLayer(): Layer {
  return { values: new Map(), problems: [], warnings: [] };
}

/** Values by dotted key as the nested table that the schema checks. */
export function toTable(values: Layer['values']): Record<string, unknown> {
  const table: Record<string, unknown> = {};
  const tables = new Map<string, Record<string, unknown>>([['', table]]);
  const tableAt = (path: readonly string[]): Record<string, unknown> => {
    const key = path.join('.');
    const known = tables.get(key);
    if (known !== undefined) return known;
    const created: Record<string, unknown> = {};
    tables.set(key, created);
    tableAt(path.slice(0, -1))[path.at(-1) ?? ''] = created;
    return created;
  };
  for (const [key, { value }] of values) {
    const path = key.split('.');
    tableAt(path.slice(0, -1))[path.at(-1) ?? ''] = value;
  }
  return table;
}
