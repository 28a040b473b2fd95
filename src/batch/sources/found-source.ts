/** A file that somebody named, or that was found in what he named. */
export interface FoundSource {
  /** Absolute path. */
  path: string;
  /** As a message calls it: built from what was typed. */
  shown: string;
  /** The file's folder relative to the named one, which the results' folders mirror; empty for the named folder itself. */
  dir: string;
  /** `named`: on the command line; `listed`: in a list of files; `found`: by looking into folders. */
  how: 'named' | 'listed' | 'found';
}
