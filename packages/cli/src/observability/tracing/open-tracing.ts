import { packageVersion } from 'temporal-file-conversion/internal/http/package-version';
import { CommandError } from '../../command-error';
import type { Environment } from '../../config/layers';
import type { Tracing } from './start-tracing';

/** Optional packages: whoever wants traces installs them. */
const packages =
  '@temporalio/interceptors-opentelemetry @opentelemetry/api@1.9 @opentelemetry/sdk-trace-base@1 @opentelemetry/sdk-trace-node@1 @opentelemetry/resources@1 @opentelemetry/exporter-trace-otlp-http@0.57';

/**
 * The traces of this process if OpenTelemetry's variables say where they go; otherwise undefined, and nothing of it is loaded.
 * @throws CommandError when the variables ask for traces and the packages are missing or unsuitable.
 */
export async function openTracing(
  env: Environment,
  { serviceName }: { serviceName: string },
): Promise<Tracing | undefined> {
  if (!isWanted(env)) return undefined;
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? env['OTEL_EXPORTER_OTLP_PROTOCOL'];
  if (protocol === 'grpc') {
    throw unusable(
      "Traces are sent by OTLP over HTTP, not gRPC: name the collector's HTTP port, usually 4318, and set OTEL_EXPORTER_OTLP_PROTOCOL=http/json.",
    );
  }
  try {
    const { startTracing } = await import('./start-tracing.js');
    return startTracing({ serviceName, version: packageVersion() });
  } catch (error) {
    const isMissing = (error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND';
    // Functions that are called here are missing in another major version.
    if (!isMissing && !(error instanceof TypeError)) throw error;
    const are = isMissing ? 'are not installed' : 'are installed in another major version';
    throw unusable(
      `Traces need packages that ${are}. Install them (npm install ${packages}), or unset OTEL_EXPORTER_OTLP_ENDPOINT.`,
      error,
    );
  }
}

function isWanted(env: Environment): boolean {
  if (env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none') return false;
  return Boolean(env['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT'] ?? env['OTEL_EXPORTER_OTLP_ENDPOINT']);
}

function unusable(problem: string, cause?: unknown): CommandError {
  return new CommandError('INPUT_UNUSABLE', [problem], { cause });
}
