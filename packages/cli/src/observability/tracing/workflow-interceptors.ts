// Runs in the workflow sandbox, and is bundled only by workers that trace. The first import patches the sandbox for those that follow.
import '@temporalio/interceptors-opentelemetry/lib/workflow/runtime';
import { context as contexts, isSpanContextValid, trace, type Tracer } from '@opentelemetry/api';
import { BasicTracerProvider, SimpleSpanProcessor, type IdGenerator } from '@opentelemetry/sdk-trace-base';
import {
  extractContextFromHeaders,
  headersWithContext,
  instrument,
} from '@temporalio/interceptors-opentelemetry/lib/instrumentation';
import { ContextManager } from '@temporalio/interceptors-opentelemetry/lib/workflow/context-manager';
import { SpanExporter } from '@temporalio/interceptors-opentelemetry/lib/workflow/span-exporter';
import { ContinueAsNew, workflowInfo, type WorkflowInterceptors } from '@temporalio/workflow';

/**
 * Spans of a run and of its steps, in the trace of whoever started it.
 *
 * Built from parts of Temporal's interceptors, with fewer spans than those make (decision 0030). A query makes none: it is in no
 * history, so a replay would number later spans differently. Each job of a batch has a trace of its own, so that none is as large as
 * the batch. Nothing here awaits what a workflow without traces does not, so that histories replay with and without tracing.
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
 * Span ids for one run of a workflow: the same in every replay, and not drawn from the workflow's own random numbers, so that it
 * decides the same with and without traces.
 */
export class RunSpanIds implements IdGenerator {
  readonly #runId: string;
  #state: [number, number, number, number];

  /** @param runId a UUID. */
  constructor(runId: string) {
    this.#runId = runId.replaceAll('-', '').toLowerCase();
    const word = (index: number) => Number.parseInt(this.#runId.slice(index * 8, index * 8 + 8), 16) | 0;
    this.#state = [word(0), word(1), word(2), word(3)];
    // Ids of runs that began at the same moment share their first half.
    for (let round = 0; round < 16; round += 1) this.#next();
  }

  /** A run that is part of no other trace has its run id as the trace id. */
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
