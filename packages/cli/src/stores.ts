import type * as Https from 'temporal-file-conversion/internal/storage/https/index';
import { confine } from 'temporal-file-conversion/internal/storage/confine';
import { createLocalFiles } from 'temporal-file-conversion/internal/storage/local-files';
import type { StoresByScheme } from 'temporal-file-conversion/internal/storage/stores';
import type * as S3 from 'temporal-file-conversion/s3';
import type { CommandContext } from './command-context';

/* eslint-disable @typescript-eslint/no-require-imports -- a store, and what it takes to load it, waits for its first URI */

/** `roots`: folders that `file:` URIs may lead to; none: any. `isShared`: all workers see the same under them. */
export function configuredStores(
  context: Pick<CommandContext, 'config' | 'env'>,
  { roots = [], isShared = false }: { roots?: readonly string[]; isShared?: boolean } = {},
): StoresByScheme {
  const { s3, https } = context.config.values;
  const plainHttp = https.plainHttp === 'on';
  const web = () => {
    const { createHttpsFiles } = require('temporal-file-conversion/internal/storage/https/index') as typeof Https;
    return createHttpsFiles({ ...https, plainHttp });
  };
  const files = createLocalFiles({ isShared });
  return {
    file: roots.length === 0 ? files : confine(files, roots),
    https: web,
    ...(plainHttp && { http: web }),
    s3() {
      const { createS3Files } = require('temporal-file-conversion/s3') as typeof S3;
      return createS3Files({
        endpoint: s3Endpoint(context),
        region: s3.region,
        ...(s3.pathStyle && { pathStyle: s3.pathStyle === 'on' }),
      });
    },
  };
}

/** Of a server other than AWS. */
export function s3Endpoint({ config, env }: Pick<CommandContext, 'config' | 'env'>): string | undefined {
  return [config.values.s3.endpoint, env['AWS_ENDPOINT_URL_S3'], env['AWS_ENDPOINT_URL']].find(Boolean);
}
