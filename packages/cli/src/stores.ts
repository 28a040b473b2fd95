import {
  confine,
  createHttpsFiles,
  createLocalFiles,
  type FileStore,
  Stores,
  type StoresByScheme,
} from 'temporal-file-conversion/storage';
import type * as S3 from 'temporal-file-conversion/s3';
import { makeStateFolders } from './allowed';
import type { CommandContext } from './command-context';

/** `roots`: folders that `file:` URIs may lead to; empty: anywhere. `isShared`: all workers see the same files there. */
export function configuredStores(
  { config, env }: Pick<CommandContext, 'config' | 'env'>,
  { roots = [], isShared = false }: { roots?: readonly string[]; isShared?: boolean } = {},
): StoresByScheme {
  const { https } = config.values;
  const plainHttp = https.plainHttp === 'on';
  const web = () => createHttpsFiles({ ...https, plainHttp });
  const files = createLocalFiles({ isShared });
  return {
    file: roots.length === 0 ? files : confine(files, roots),
    https: web,
    ...(plainHttp && { http: web }),
    s3() {
      const { createS3Files } = require('temporal-file-conversion/s3') as typeof S3;
      // For a server other than AWS, which has its buckets in the URL's path. The SDK reads the rest of the environment itself.
      return createS3Files({ endpoint: [env['AWS_ENDPOINT_URL_S3'], env['AWS_ENDPOINT_URL']].find(Boolean) });
    },
  };
}

/** The stores that a command uses. Creates the state folders before the first write. */
export function filesOf(context: CommandContext): FileStore {
  const stores = new Stores(configuredStores(context));
  const { writeDestination } = stores;
  stores.writeDestination = async (options) => {
    await makeStateFolders(context);
    return writeDestination(options);
  };
  return stores;
}
