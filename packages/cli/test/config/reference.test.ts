import Ajv from 'ajv';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parse } from 'smol-toml';

const root = path.resolve(__dirname, '../../../..');
const schemaFile = path.join(root, 'packages/cli/fileconv.schema.json');

it('fileconv.schema.json, docs/configuration.md and docs/errors.md match their sources', () => {
  const script = path.join(root, 'scripts/config-reference.mjs');
  const { status, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});

describe('an editor with fileconv.schema.json', () => {
  const check = new Ajv({ validateFormats: false }).compile(JSON.parse(readFileSync(schemaFile, 'utf8')) as object);

  it.each([
    'default_app = "a"\n[apps.a]\nbase_url = "https://a.example"\napp_id = "1"\ntoken_env = "T"',
    '[policies]\nupload_deadline = "1.5 hours"\non_existing = "rename"\nmax_resubmissions = 0',
    '[worker]\nmetrics_address = "[::1]:9464"\nshutdown_grace_seconds = 0.5\nnexus_apps = ["a"]',
    '',
  ])('accepts %j', (toml) => {
    check(parse(toml));
    expect(check.errors ?? []).toEqual([]);
  });

  it.each([
    'task_queue = "a"',
    '[worker]\ntask_que = "a"',
    '[worker]\nmax_concurrent_activities = "7"',
    '[worker]\nnexus_apps = "a"',
    '[service]\nport = 65536',
    '[policies]\non_existing = "replace"',
    '[policies]\nupload_deadline = 10',
    '[policies]\nupload_deadline = "10"',
    '[apps.a]\ntoken = "secret"',
    '[apps."a.b"]\napp_id = "1"',
  ])('refuses %j', (toml) => expect(check(parse(toml))).toBe(false));
});
