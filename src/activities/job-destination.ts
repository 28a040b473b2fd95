import type { NeededRoom } from '../shared/activities';
import type { OnExisting } from '../shared/job';
import type { DestinationPlan, FileStore } from '../storage/file-store';

/** What an activity knows of where its job's result goes. */
export interface JobDestination {
  destination: string;
  sourceName: string;
  output: string;
  onExisting: OnExisting;
  /** URI of the source, which must not be replaced. */
  uri?: string;
  /** Of the download: a later one may find the file that a lost one has finished. */
  attempt?: number;
  room?: NeededRoom;
}

/** Settles the result's name and proves that it can be written, before anything is spent on it. */
export function planDestination(files: FileStore, job: JobDestination): Promise<DestinationPlan> {
  const suggestedName = outputName(job.sourceName, job.output);
  const { destination, onExisting, attempt, room, uri: source } = job;
  const expectedBytes = room?.bytes;
  return files.prepareDestination({ uri: destination, suggestedName, onExisting, attempt, expectedBytes, source });
}

/** The name of a job's result when the destination is a folder: the source's name with the target format as its extension. */
export function outputName(sourceName: string, output: string): string {
  const base = sourceName.replace(/\.[^.]*$/, '') || sourceName;
  // `txt-markdown` is the format `txt` in its variant `markdown`.
  return `${base}.${output.split('-', 1)[0] ?? output}`;
}
