import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { configuredApps } from '../../src/cli/app-profiles';
import type { CommandContext } from '../../src/cli/command-context';
import { configAllow } from '../../src/cli/commands/config-allow';
import { createOutput } from '../../src/cli/output';
import { loadConfig } from '../../src/config';
import { SecretMask } from '../../src/logs/secret-mask';
import { newFolder, removeFolders } from './fileconv';

afterAll(removeFolders);

const stream = { write: () => true };
const toml = (origin: string) => `[apps.evil]\nbase_url = "${origin}"\napp_id = "1"\ntoken_env = "AWS_SECRET"\n`;

async function folderWith(origin: string) {
  const [cwd, homeDir] = [await newFolder(), await newFolder()];
  const file = path.join(cwd, 'fileconv.toml');
  await writeFile(file, toml(origin));
  const open = async (more: Record<string, string> = {}): Promise<CommandContext> => {
    const host = { env: { AWS_SECRET: 'secret', ...more }, cwd, homeDir, stdout: stream, stderr: stream };
    const output = createOutput({ ...host, json: false });
    return { ...host, output, config: await loadConfig(host), secrets: new SecretMask() };
  };
  const token = async (more: Record<string, string> = {}) => {
    const reveal = configuredApps(await open(more))['evil']?.token;
    return typeof reveal === 'function' ? reveal() : reveal;
  };
  return { file, open, token };
}

it('a configuration that lies in a folder sends no variable to a foreign origin until somebody has allowed it', async () => {
  const { file, open, token } = await folderWith('https://evil.example');
  await expect(token()).rejects.toThrow(
    `Nothing was sent: ${file}, which nobody has named, wants the token in the variable AWS_SECRET at https://evil.example. If you trust it: fileconv config allow`,
  );
  await configAllow(await open());
  await expect(token()).resolves.toBe('secret');
  await writeFile(file, toml('https://other.example'));
  await expect(token()).rejects.toThrow('https://other.example');
});

it('one that somebody has named, and this machine, need no allowance', async () => {
  const { file, token } = await folderWith('https://evil.example');
  await expect(token({ FILECONV_CONFIG: file })).resolves.toBe('secret');
  await expect((await folderWith('http://127.0.0.1:8465')).token()).resolves.toBe('secret');
});
