import { mkdtemp, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { ConfigError } from '../../src/config/errors';
import type { Environment } from '../../src/config/sources';
import { loadConfig, type LoadedConfig } from '../../src/config/load-config';

export const mainApp = '[apps.main]\nbase_url = "https://api.example.com/"\napp_id = "a1"\ntoken_env = "MAIN_TOKEN"\n';

/** Gives each test a new folder as the working directory of the loaded configuration. */
export function useConfigFolder() {
  let cwd: string;

  beforeEach(async () => (cwd = await mkdtemp(path.join(os.tmpdir(), 'config-test-'))));

  /** Writes `toml`, if given, as fileconv.toml, then loads the configuration. */
  async function load(toml?: string, env: Environment = {}, file?: string): Promise<LoadedConfig> {
    if (toml !== undefined) await writeFile(path.join(cwd, 'fileconv.toml'), toml);
    return await loadConfig({ cwd, env, file });
  }

  async function problemsOf(toml: string | undefined, env: Environment = {}): Promise<readonly string[]> {
    const outcome = await load(toml, env).catch((error: unknown) => error);
    if (!(outcome instanceof ConfigError)) throw new Error('This configuration was accepted.');
    return outcome.problems.map((problem) => problem.replaceAll(cwd, '.'));
  }

  return {
    get cwd() {
      return cwd;
    },
    load,
    problemsOf,
  };
}
