import type { BatchCounts, ConversionBatchResult } from './state';
import { defined } from '../../job/defined';
import type { NoticeType } from '../../job/names';
import type { ParkReason } from '../../job/types';

/** Payload of a notice: names, counts and codes, but no token or secret. */
export interface NoticeData {
  app: string;
  batch?: string;
  schedule?: string;
  /** How the batch ended. `failed`: the batch itself failed, not only items. */
  status?: ConversionBatchResult['status'] | 'failed';
  counts?: BatchCounts;
  /** Failures by error code, at most 20 codes. */
  failures?: Record<string, number>;
  vcredits?: number;
  possiblyChargedTwice?: number;
  durationMs?: number;
  /** URI of the report page. */
  report?: string;
  /** What a parked app waits for. */
  reason?: ParkReason;
  /** Why a person is needed, or was. */
  code?: string;
  message?: string;
  /** Number of waiting jobs. */
  jobs?: number;
  /** How long the app was parked. */
  parkedMs?: number;
}

export function endOfBatch(result: ConversionBatchResult): Omit<NoticeData, 'app' | 'batch'> {
  const { status, failures, vcredits, possiblyChargedTwice, durationMs, report } = result;
  const summary = { status, counts: countsOf(result), failures, vcredits, possiblyChargedTwice, durationMs };
  return { ...summary, ...defined({ report }) };
}

export function countsOf(state: BatchCounts): BatchCounts {
  const { items, succeeded, failed, skipped, cancelled, inFlight, waiting } = state;
  return { items, succeeded, failed, skipped, cancelled, inFlight, waiting };
}

/** Input of the workflow `conversionNotice` and of its activity. */
export interface Notice {
  /** The header `webhook-id`: the same in every attempt. */
  id: string;
  type: NoticeType;
  /** When it happened, in milliseconds since the epoch. */
  at: number;
  data: NoticeData;
  /** Default: the URL that the worker is configured with. */
  url?: string;
  /** For this long afterwards, another notice with the same workflow id is not sent. */
  quietMs?: number;
}

/** Input of the workflow `conversionAppNotice`. */
export interface AppNotice {
  app: string;
  reason: ParkReason;
  code: string;
  message: string;
  /** Notices that the worker is configured to send. */
  notifies: readonly NoticeType[];
  /** When the notice of the parked app was sent, if the workflow has continued as new since; milliseconds since the epoch. */
  since?: number;
}

/** What a workflow needs to send notices, without the worker's secret. */
export interface NoticeSettings {
  /** Notices that the worker is configured to send. Absent: none. */
  notifies?: readonly NoticeType[] | undefined;
  /** URL given in the input of a batch. */
  url?: string | undefined;
}

/** Whether notices can be sent there: an `http` or `https` URL without user name, password or fragment. */
export function isNoticeUrl(text: unknown): text is string {
  return typeof text === 'string' && text.length <= 2_000 && /^https?:\/\/[^\s/?#@\\]+([/?][^\s#\\]*)?$/i.test(text);
}

export const noticeUrlProblem = 'must be an http or https URL without user name, password or "#"';

/** Whether notices can be signed with it. */
export function isNoticeSecret(text: string): boolean {
  return /^(whsec_)?([A-Za-z0-9+/]{4}){8,21}([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text);
}

export const noticeSecretProblem =
  'must be whsec_ and the base64 of 24 to 64 random bytes: echo "whsec_$(openssl rand -base64 32)"';

/** The activity that sends notices, by its name in the history. */
export interface NoticeActivities {
  'conversion.sendNotice'(notice: Notice): Promise<void>;
}
