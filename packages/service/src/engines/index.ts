/** What the engines of this machine convert, and what is missing for the rest. */
export { confinements } from './process/confinement';
export { engines } from './engines-table';
export { chooseInput, describeFormat, FormatCatalog, requireFormat, requireRoute } from './formats';
export { isHere, versionsOf } from './programs';
export { TaskError } from '../shared/task-error';
