import { context as contexts, isSpanContextValid, trace } from '@opentelemetry/api';
import type { Tracer } from '@opentelemetry/api';
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import type { IdGenerator } from '@opentelemetry/sdk-trace-base';
import {
  extractContextFromHeaders,
  headersWithContext,
  instrument,
} from '@temporalio/interceptors-opentelemetry/lib/instrumentation';
import { ContextManager } from '@temporalio/interceptors-opentelemetry/lib/workflow/context-manager';
import '@temporalio/interceptors-opentelemetry/lib/workflow/runtime';
import { SpanExporter } from '@temporalio/interceptors-opentelemetry/lib/workflow/span-exporter';
import { ContinueAsNew, workflowInfo } from '@temporalio/workflow';
import type { WorkflowInterceptors } from '@temporalio/workflow';

// Runs in the workflows' sandbox of a worker that traces, and is part of no other worker's bundle. The import patches that sandbox, so it is first.

/**
 * Spans of a run and of its steps, in the trace of whoever started it.
 *
 * Fewer than Temporal's own interceptors make, of whose parts these are built. A query must leave no span: it stands in no history, and the next
 * replay would count its ids differently. A batch does not draw its jobs into its own trace, which could then be as large as the batch: each
 * job has a trace of its own. And nothing here waits where a workflow without traces does not, so that a history is replayed with and
 * without them.
 */
export function interceptors(): WorkflowInterceptors {
  const { tracer, contextManager } = startTracer();
  return {
    inbound: [
      {
        execute: (input, next) => {
          const { workflowType } = workflowInfo();
          const context = extractContextFromHeaders(input.headers);
          return instrument({
            tracer,
            spanName: `RunWorkflow:${workflowType}`,
            fn: () => next(input),
            ...(context && { context }),
            acceptableErrors: isContinueAsNew,
          });
        },
      },
    ],
    outbound: [
      {
        scheduleActivity: (input, next) =>
          instrument({
            tracer,
            spanName: `StartActivity:${input.activityType}`,
            fn: () => next({ ...input, headers: headersWithContext(input.headers) }),
          }),
        continueAsNew: (input, next) => next({ ...input, headers: headersWithContext(input.headers) }),
        getLogAttributes: (input, next) => {
          const span = trace.getSpanContext(contexts.active());
          const isKnown = span !== undefined && isSpanContextValid(span);
          return next(isKnown ? { ...input, trace_id: span.traceId, span_id: span.spanId } : input);
        },
      },
    ],
    internals: [
      {
        dispose: (input, next) => {
          contextManager.disable();
          next(input);
        },
      },
    ],
  };
}

function startTracer(): { tracer: Tracer; contextManager: ContextManager } {
  const contextManager = new ContextManager();
  const provider = new BasicTracerProvider({
    idGenerator: new RunSpanIds(workflowInfo().runId),
    spanProcessors: [new SimpleSpanProcessor(new SpanExporter())],
  });
  provider.register({ contextManager });
  return { tracer: provider.getTracer('temporal-file-conversion'), contextManager };
}

function isContinueAsNew(error: unknown): boolean {
  return error instanceof ContinueAsNew;
}

/**
 * Ids for the spans of one run of a workflow: the same whenever its history is replayed, and none of the random numbers that belong to the
 * workflow itself, so that it decides the same with traces and without.
 */
export class RunSpanIds implements IdGenerator {
  readonly #runId: string;
  #state: [number, number, number, number];

  /** @param runId a UUID. */
  constructor(runId: string) {
    this.#runId = runId.replaceAll('-', '').toLowerCase();
    const word = (index: number) => Number.parseInt(this.#runId.slice(index * 8, index * 8 + 8), 16) | 0;
    this.#state = [word(0), word(1), word(2), word(3)];
    // Runs that began in the same moment share the first half of their ids.
    for (let round = 0; round < 16; round += 1) this.#next();
  }

  /** Of a run that nobody's trace led to: its trace is called like the run. */
  generateTraceId = (): string => this.#runId;

  generateSpanId = (): string => {
    const id = this.#hex() + this.#hex();
    return /^0+$/.test(id) ? this.generateSpanId() : id;
  };

  #hex(): string {
    return (this.#next() >>> 0).toString(16).padStart(8, '0');
  }

  /** sfc32: small, fast, and good enough that ids do not collide. */
  #next(): number {
    const [a, b, c, counter] = this.#state;
    const result = (a + b + counter) | 0;
    this.#state = [b ^ (b >>> 9), (c + (c << 3)) | 0, (((c << 21) | (c >>> 11)) + result) | 0, (counter + 1) | 0];
    return result;
  }
}
