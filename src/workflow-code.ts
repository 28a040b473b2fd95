import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { DataConverter } from '@temporalio/common';
import type { BundleOptions, WorkerOptions } from '@temporalio/worker';
import { z } from 'zod';
import { encodedFailuresPath } from './encryption/data-converter';
import { conversionWorkflowsVersion } from './workflows/version';

type WorkflowCode = Pick<WorkerOptions, 'workflowBundle'> | Pick<WorkerOptions, 'workflowsPath' | 'bundlerOptions'>;

const workflowsPath = require.resolve('./workflows');
// src and dist are at the same depth, so this path works from both.
const built = path.resolve(__dirname, '../dist');

/**
 * The conversion workflows for a worker that has none: the prebuilt bundle, or a new one if plugins, interceptors or converters change
 * the code, if the SDK has another version, or if there is no prebuilt one. A bundle contains its converters; encrypted payloads have
 * their own.
 */
export function workflowCode({
  dataConverter = {},
  interceptors,
  bundlerOptions,
  plugins = [],
}: Partial<WorkerOptions> = {}): WorkflowCode {
  const { failureConverterPath, payloadConverterPath } = dataConverter;
  const isEncoding = failureConverterPath === encodedFailuresPath;
  const hasForeignCode =
    new Set(plugins).size > 1 ||
    bundlerOptions !== undefined ||
    (interceptors?.workflowModules ?? []).length > 0 ||
    payloadConverterPath !== undefined ||
    (failureConverterPath !== undefined && !isEncoding);
  const builtWith = readVersion(path.join(built, 'workflow-bundle.json'), 'sdkVersion');
  const running = readVersion(require.resolve('@temporalio/worker/package.json'), 'version');
  if (builtWith !== running || hasForeignCode) {
    // Loaded once per thread, not per workflow: our modules only hold constants. The prebuilt bundle does the same.
    return { workflowsPath, bundlerOptions: { ...bundlerOptions, preloadModules: [workflowsPath] } };
  }
  const code = readFileSync(path.join(built, 'workflow-bundle.js'), 'utf8');
  return { workflowBundle: { code: isEncoding ? code : withPlainFailures(code) } };
}

/** Turns the encoding of failures off: the prebuilt bundle encodes them, and its sandbox can't see the worker's settings. */
function withPlainFailures(code: string): string {
  const plain = code.replace('({ encodeCommonAttributes: true })', '({ encodeCommonAttributes: false })');
  if (plain === code) throw new Error('The workflow bundle has no failure converter. Build it again: npm run build');
  return plain;
}

function readVersion(file: string, key: string): string | undefined {
  if (!existsSync(file)) return undefined;
  return z.looseObject({ [key]: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8')))[key];
}

/** The parts of webpack used here; the SDK's types need webpack to be installed. */
interface WebpackConfig {
  plugins?: { apply(compiler: Compiler): void }[];
}
interface Compiler {
  hooks: { assetEmitted: { tap(name: string, emitted: (file: string, asset: { content: Buffer }) => void): void } };
}

/** Calls `onCode` with the code of each bundle that is built. */
export function readingBundle(options: BundleOptions, onCode: (code: string) => void): BundleOptions {
  const { webpackConfigHook: before } = options as { webpackConfigHook?: (config: WebpackConfig) => WebpackConfig };
  const reader = {
    apply: ({ hooks }: Compiler) =>
      hooks.assetEmitted.tap('conversion', (_file, { content }) => onCode(content.toString())),
  };
  const webpackConfigHook = (given: WebpackConfig): WebpackConfig => {
    const config = before?.(given) ?? given;
    return { ...config, plugins: [...(config.plugins ?? []), reader] };
  };
  return { ...options, webpackConfigHook: webpackConfigHook as NonNullable<BundleOptions['webpackConfigHook']> };
}

export function bundleOfHost(bundle: WorkerOptions['workflowBundle']): string | undefined {
  if (!bundle) return undefined;
  return 'code' in bundle ? bundle.code : readFileSync(bundle.codePath, 'utf8');
}

/** Why a bundle, with its worker's converter, does not run conversions as this version does; undefined if it does. */
export function problemOfBundle(code: string, dataConverter?: DataConverter): string | undefined {
  const own = conversionWorkflowsVersion;
  const name = own.slice(0, own.indexOf(' '));
  const found = new RegExp(`${name} [\\w.+-]+`).exec(code)?.[0];
  if (found === own) {
    const isEncoding = dataConverter?.failureConverterPath === encodedFailuresPath;
    if (!isEncoding || /encodeCommonAttributes:\s*(true|!0)/.test(code)) return undefined;
    return 'its workflow bundle does not encrypt the messages of failures. Bundle the workflows with the failureConverterPath of its data converter.';
  }
  if (found !== undefined)
    return `its workflow bundle holds ${found}, and the plugin is of ${own}. Bundle the workflows again.`;
  return `its workflows lack conversionJob. Add to its workflows file: export * from '${name}'`;
}
