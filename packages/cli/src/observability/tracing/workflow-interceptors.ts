// Runs in the workflows' sandbox of a worker that traces, and is part of no other worker's bundle. The import patches that sandbox, so it is first.
import '@temporalio/interceptors-opentelemetry/lib/workflow/runtime';
import type { Tracer } from '@opentelemetry/api';
import { isSpanContextValid, context as contexts, trace } from '@opentelemetry/api';
import { BasicTracerProvider, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import {
  extractContextFromHeaders,
  headersWithContext,
  instrument,
} from '@temporalio/interceptors-opentelemetry/lib/instrumentation';
import { ContextManager } from '@temporalio/interceptors-opentelemetry/lib/workflow/context-manager';
import { SpanExporter } from '@temporalio/interceptors-opentelemetry/lib/workflow/span-exporter';
import type { WorkflowInterceptors } from '@temporalio/workflow';
import { ContinueAsNew, workflowInfo } from '@temporalio/workflow';
import { RunSpanIds } from './span-ids';

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
