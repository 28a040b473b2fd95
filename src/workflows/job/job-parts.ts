import type { ConversionJobInput } from '../../shared/job';
import type { CreditsPark } from './credits-park';
import type { JobActivities } from './job-activities';
import type { JobCallbacks } from './job-callbacks';
import type { JobProgress } from './job-progress';
import type { Leftovers } from './leftovers';
import type { OrderedWaits } from './ordered-waits';
import type { ResolvedPolicies } from './policies';
import type { RoomWait } from './room-wait';

export interface JobParts {
  readonly input: ConversionJobInput;
  readonly policies: ResolvedPolicies;
  readonly name: string;
  readonly activities: JobActivities;
  readonly progress: JobProgress;
  readonly callbacks: JobCallbacks;
  readonly credits: CreditsPark;
  readonly waits: OrderedWaits;
  readonly room: RoomWait;
  readonly leftovers: Leftovers;
}
