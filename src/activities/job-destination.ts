import type { NeededRoom } from '../shared/activities';
import type { OnExisting } from '../shared/job';
import type { DestinationPlan, FileStore } from '../storage/file-store';

export interface JobDestination {
  destination: string;
  sourceName: string;
  output: string;
  onExisting: OnExisting;
  /** URI of the source, which must not be overwritten. */
  uri?: string;
  /** Of the download: from 2 on, a lost attempt may have finished the file. */
  attempt?: number;
  room?: NeededRoom;
}

/** Resolves the result's name and proves that it can be written, before anything is spent on it. */
export function planDestination(files: FileStore, job: JobDestination): Promise<DestinationPlan> {
  const suggestedName = outputName(job.sourceName, job.output);
  const { destination, onExisting, attempt, room, uri: source } = job;
  const expectedBytes = room?.bytes;
  return files.prepareDestination({ uri: destination, suggestedName, onExisting, attempt, expectedBytes, source });
}

/** Name of a job's result in a folder: the source's name with the target format as its extension. */
export function outputName(sourceName: string, output: string): string {
  const base = sourceName.replace(/\.[^.]*$/, '') || sourceName;
  // `txt-markdown` is the format `txt` in the variant `markdown`.
  return `${base}.${output.split('-', 1)[0] ?? output}`;
}
