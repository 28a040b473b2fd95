import { setTimeout as sleep } from 'node:timers/promises';
import type { Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { Resource, envDetectorSync } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import {
  OpenTelemetryActivityInboundInterceptor,
  OpenTelemetryActivityOutboundInterceptor,
  OpenTelemetryWorkflowClientInterceptor,
  makeWorkflowExporter,
} from '@temporalio/interceptors-opentelemetry';
import { SimplePlugin } from '@temporalio/plugin';
import type { OpenTelemetryWorkflowExporter } from '@temporalio/interceptors-opentelemetry/lib/workflow';
import type { InjectedSink, WorkerOptions } from '@temporalio/worker';
import type { WorkflowInfo } from '@temporalio/workflow';

export interface Tracing {
  tracer: Tracer;
  /** For a client: the start of a workflow is a span, and what the workflow does is below it. */
  client: WorkflowClientInterceptor;
  /** For a worker: its workflows and activities are spans. They have to be bundled with it. */
  worker: SimplePlugin;
  /** Sends what is left, for a few seconds at most. */
  close(): Promise<void>;
}

/** How long a collector that does not answer may delay the end of a process. */
const closeTimeoutMs = 3_000;

/**
 * Starts traces. Where they go, how they are sampled and what else they say is up to OpenTelemetry's own variables.
 * @param serviceName unless OTEL_SERVICE_NAME says otherwise.
 */
export function startTracing({ serviceName, version }: { serviceName: string; version: string }): Tracing {
  const named = new Resource({ 'service.name': serviceName, 'service.version': version });
  const { attributes } = Resource.default().merge(named).merge(envDetectorSync.detect());
  const resource = new Resource(attributes);
  const processor = new BatchSpanProcessor(new OTLPTraceExporter(), { exportTimeoutMillis: closeTimeoutMs });
  const provider = new NodeTracerProvider({ resource, spanProcessors: [processor] });
  provider.register();
  const tracer = provider.getTracer('temporal-file-conversion', version);
  const client = new OpenTelemetryWorkflowClientInterceptor({ tracer });
  return {
    tracer,
    // Only starts: each query that a command sends while it waits would be a trace.
    client: {
      startWithDetails: (input, next) => client.startWithDetails(input, next),
    },
    worker: new TracingPlugin(tracer, () => briefly(makeWorkflowExporter(processor, resource))),
    async close() {
      await Promise.race([
        provider.shutdown().catch(() => undefined),
        sleep(closeTimeoutMs, undefined, { ref: false }),
      ]);
    },
  };
}

type WorkflowSink = InjectedSink<OpenTelemetryWorkflowExporter>;

/** The sink would add all that is known of a workflow to each span. This keeps only the ids, named as in the spans of activities. */
function briefly(sink: WorkflowSink): WorkflowSink {
  return {
    export: {
      fn: ({ workflowId, runId, parent }, spans) => {
        const ids = {
          temporalWorkflowId: workflowId,
          run_id: runId,
          ...(parent && { 'fileconv.batch_id': parent.workflowId }),
        };
        return sink.export.fn(ids as unknown as WorkflowInfo, spans);
      },
    },
  };
}

class TracingPlugin extends SimplePlugin {
  constructor(
    tracer: Tracer,
    private readonly createSink: () => WorkflowSink,
  ) {
    super({
      name: 'temporal-file-conversion.TracingPlugin',
      workerInterceptors: {
        workflowModules: [require.resolve('./workflow-interceptors')],
        activity: [
          (context) => ({
            inbound: new OpenTelemetryActivityInboundInterceptor(context, { tracer }),
            outbound: new OpenTelemetryActivityOutboundInterceptor(context),
          }),
        ],
      },
    });
  }

  override configureWorker(options: WorkerOptions): WorkerOptions {
    return super.configureWorker({ ...options, sinks: { ...options.sinks, exporter: this.createSink() } });
  }
}
