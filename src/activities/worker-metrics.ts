import { ApplicationFailure, ApplicationFailureCategory, type MetricMeter } from '@temporalio/common';
import { classOfEndpoint } from '../contract/endpoints';
import type { RequestObserver } from '../http/conversion-api';
import { ConversionApiError } from '../http/errors';
import type { ActivityFailureDetails } from '../job/activities';
import {
  jobEnds,
  noCode,
  otherValue,
  unknownOutcomeDecisions,
  workerMetrics,
  type MetricDefinition,
} from '../job/metrics';
import { conversionJobType } from '../job/names';
import { parkReasons } from '../job/types';
import type { FailureContext } from './failure-context';

type Instruments = ReturnType<typeof createInstruments>;

/** The metrics of a worker's activities. Records nothing before `use`. */
export class WorkerMetrics {
  readonly #apps: ReadonlySet<string>;
  #instruments: Instruments | undefined;

  /** @param apps the worker's app profiles; jobs may name others. */
  constructor(apps: readonly string[]) {
    this.#apps = new Set(apps);
  }

  /** Starts recording. Rare counters start at 0, since Prometheus misses the first increase of a new series. */
  use(meter: MetricMeter, { namespace, taskQueue }: { namespace: string; taskQueue: string }): void {
    this.#instruments = createInstruments(meter);
    // The labels that the SDK adds to workflow metrics.
    const workflow = { namespace, taskQueue, workflowType: conversionJobType };
    const { counter } = this.#instruments;
    for (const decision of unknownOutcomeDecisions) {
      counter(workerMetrics.unknownOutcomes).add(0, { ...workflow, decision });
    }
    for (const status of jobEnds.filter((each) => each !== 'failed')) {
      counter(workerMetrics.jobsEnded).add(0, { ...workflow, status, code: noCode });
    }
    for (const reason of parkReasons) counter(workerMetrics.jobsParked).add(0, { ...workflow, reason });
  }

  observer(appName: string): RequestObserver {
    const app = this.#label(appName);
    return {
      waited: ({ endpoint, seconds }) =>
        this.#instruments?.rateLimitWait.record(seconds, { app, class: classOfEndpoint(endpoint), where: 'line' }),
      answered: ({ endpoint, status, seconds }) => {
        this.#instruments?.requests.add(1, { app, endpoint, status: statusLabel(status) });
        this.#instruments?.requestSeconds.record(seconds, { app, endpoint });
      },
      transferred: ({ direction, bytes }) => this.#instruments?.transferredBytes.add(bytes, { app, direction }),
    };
  }

  /** Counts an attempt that failed with `error` and was reported to Temporal as `reported`. */
  attemptFailed(
    { step, app }: Pick<FailureContext, 'step' | 'app'>,
    { error, reported }: { error: unknown; reported: Error },
  ): void {
    if (!(reported instanceof ApplicationFailure) || reported.nonRetryable === true) return;
    if (reported.category !== ApplicationFailureCategory.BENIGN) {
      const { code, unlisted } = (reported.details?.[0] ?? {}) as Partial<ActivityFailureDetails>;
      const known = unlisted === true ? undefined : code;
      this.#instruments?.retries.add(1, { app: this.#label(app), step, code: known ?? otherValue });
    } else if (error instanceof ConversionApiError && error.retryAfterSeconds !== undefined) {
      const labels = { app: this.#label(app), class: classOfEndpoint(error.endpoint), where: 'away' };
      this.#instruments?.rateLimitWait.record(error.retryAfterSeconds, labels);
    }
  }

  #label(app: string): string {
    return this.#apps.has(app) ? app : otherValue;
  }
}

function createInstruments(meter: MetricMeter) {
  const counter = ({ name, description }: MetricDefinition) => meter.createCounter(name, undefined, description);
  const histogram = ({ name, description }: MetricDefinition) =>
    meter.createHistogram(name, 'float', undefined, description);
  return {
    counter,
    requests: counter(workerMetrics.requests),
    requestSeconds: histogram(workerMetrics.requestSeconds),
    rateLimitWait: histogram(workerMetrics.rateLimitWait),
    transferredBytes: counter(workerMetrics.transferredBytes),
    retries: counter(workerMetrics.retries),
  };
}

/** Bounds the label: a service may answer with any three-digit status. */
function statusLabel(status: number | string): string {
  if (typeof status === 'string') return status;
  return status >= 100 && status <= 599 ? String(status) : otherValue;
}
