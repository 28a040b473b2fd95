import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import net from 'node:net';
import http2 from 'node:http2';
import { readFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { testTemporalAddress } from '../../../test/support/temporal';
import { fileconvProcess as fileconv, linesOf, newFolder, startProcess, type Ended } from './fileconv';

/** Temporal's own environment configuration, against a TLS proxy in front of the test server that requires client certificates. */

const run = promisify(execFile);
const apiKey = 'api-key-4711';
let cwd: string;
let mutual: Front;
let keyed: Front;

interface Front {
  address: string;
  /** Common names of the client certificates seen. */
  clients: string[];
  /** Values of the `authorization` header seen. */
  authorizations: (string | undefined)[];
  close(): Promise<void>;
}

beforeAll(async () => {
  cwd = await newFolder();
  await makeCertificates();
  mutual = await startMutualFront();
  keyed = await startKeyedFront();
  await writeFile(
    path.join(cwd, 'temporal.toml'),
    `[profile.default]
address = "127.0.0.1:1"

[profile.mutual]
address = "${mutual.address}"
[profile.mutual.tls]
client_cert_path = "${inFolder('client.pem')}"
client_key_path = "${inFolder('client.key')}"
server_ca_cert_path = "${inFolder('ca.pem')}"
server_name = "temporal.example.com"

[profile.bare]
address = "${mutual.address}"
[profile.bare.tls]
server_ca_cert_path = "${inFolder('ca.pem')}"
server_name = "temporal.example.com"

[profile.keyed]
address = "${keyed.address}"
api_key = "${apiKey}"
[profile.keyed.tls]
server_ca_cert_path = "${inFolder('ca.pem')}"
server_name = "temporal.example.com"

[profile.gone]
address = "${mutual.address}"
[profile.gone.tls]
client_cert_path = "${inFolder('gone.pem')}"
client_key_path = "${inFolder('client.key')}"
`,
  );
});

afterAll(async () => {
  await mutual.close();
  await keyed.close();
});

const inFolder = (name: string) => path.join(cwd, name);

const withProfile = (profile: string, ...args: string[]): Promise<Ended> =>
  fileconv(args, { cwd, env: { TEMPORAL_CONFIG_FILE: 'temporal.toml', TEMPORAL_PROFILE: profile } });

it('commands and workers connect with the certificate of a profile', async () => {
  expect(await withProfile('mutual', 'job', 'list', '--status', 'failed')).toMatchObject({ code: 0 });
  expect(mutual.clients).toContain('fileconv-client');
  mutual.clients.length = 0;
  const worker = startProcess(['worker'], {
    cwd,
    env: { TEMPORAL_CONFIG_FILE: 'temporal.toml', TEMPORAL_PROFILE: 'mutual', FILECONV_WORKER_TASK_QUEUE: 'mutual' },
  });
  await worker.until(/Worker on task queue mutual/);
  await worker.end('SIGTERM');
  expect(mutual.clients).toContain('fileconv-client');
});

it('tells what to set when only one side may speak TLS', async () => {
  const plain = await fileconv(['job', 'list'], { cwd, env: { TEMPORAL_ADDRESS: mutual.address } });
  expect(plain.stderr).toContain('If it uses TLS, set TEMPORAL_TLS=true');
  const env = { TEMPORAL_ADDRESS: testTemporalAddress(), TEMPORAL_TLS: 'true' };
  const overTls = await fileconv(['job', 'list'], { cwd, env });
  expect(overTls.stderr).toContain('If it does not use TLS, unset TEMPORAL_TLS');
});

it('sends the API key with every request, over TLS', async () => {
  await withProfile('keyed', 'job', 'list');
  expect(keyed.authorizations.length).toBeGreaterThan(0);
  expect(new Set(keyed.authorizations)).toEqual(new Set([`Bearer ${apiKey}`]));
});

const unusable = "^error: Temporal's own configuration can't be used: ";
const mend = "; correct Temporal's configuration file temporal\\.toml";
it.each([
  [
    'without the certificate that the server asks for',
    'bare',
    1,
    "^error: Temporal can't be reached at 127\\.0\\.0\\.1:\\d+.* TEMPORAL_TLS_CLIENT_CERT_PATH",
  ],
  ['whose certificate is not there', 'gone', 2, `${unusable}/.*gone\\.pem: there is no such file${mend}`],
  ['that the file does not have', 'prod', 2, `${unusable}Profile 'prod' not found.*${mend}`],
])('a profile %s gives one line', async (_what, profile, code, problem) => {
  const ended = await withProfile(profile, 'job', 'list');
  expect(ended).toMatchObject({ code, stdout: '' });
  expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(problem)]);
});

it("the default profile of Temporal's own file wins over a local server", async () => {
  const ended = await fileconv(['job', 'list'], { cwd, env: { TEMPORAL_CONFIG_FILE: 'temporal.toml' } });
  expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(/^error: Temporal can't be reached at 127\.0\.0\.1:1/)]);
});

it('a syntax error in the file gives one line without its content', async () => {
  await writeFile(inFolder('broken.toml'), `[profile.default]\napi_key = "${apiKey}\n`);
  const ended = await fileconv(['job', 'list'], { cwd, env: { TEMPORAL_CONFIG_FILE: 'broken.toml' } });
  expect(ended).toMatchObject({ code: 2, stdout: '' });
  expect(linesOf(ended.stderr)).toEqual([expect.stringMatching(/can't be used: .*; correct .* broken\.toml/)]);
  expect(ended.stderr).not.toContain(apiKey);
});

/** A certificate authority, a server and a client certificate, valid for a day. */
async function makeCertificates(): Promise<void> {
  const openssl = (line: string) => run('openssl', line.split(' '), { cwd });
  const newKey = 'req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes';
  await openssl(`${newKey} -x509 -keyout ca.key -out ca.pem -days 1 -subj /CN=fileconv-ca`);
  await writeFile(inFolder('server.ext'), 'subjectAltName=DNS:temporal.example.com\n');
  await writeFile(inFolder('client.ext'), 'extendedKeyUsage=clientAuth\n');
  for (const name of ['server', 'client']) {
    await openssl(`${newKey} -keyout ${name}.key -out ${name}.csr -subj /CN=fileconv-${name}`);
    const authority = '-CA ca.pem -CAkey ca.key -CAcreateserial';
    await openssl(`x509 -req -in ${name}.csr ${authority} -out ${name}.pem -days 1 -extfile ${name}.ext`);
  }
}

const serverOptions = () => ({
  key: readFileSync(inFolder('server.key')),
  cert: readFileSync(inFolder('server.pem')),
  ca: readFileSync(inFolder('ca.pem')),
  ALPNProtocols: ['h2'],
});

/** Terminates TLS and forwards the bytes. */
async function startMutualFront(): Promise<Front> {
  const [host = '', port = ''] = testTemporalAddress().split(':');
  const clients: string[] = [];
  const sockets = new Set<net.Socket>();
  const server = tls.createServer({ ...serverOptions(), requestCert: true, rejectUnauthorized: true }, (socket) => {
    const upstream = net.connect(Number(port), host);
    clients.push(String(socket.getPeerCertificate().subject.CN));
    for (const each of [socket, upstream]) {
      sockets.add(each);
      each.on('error', () => undefined).once('close', () => [socket, upstream].forEach((end) => end.destroy()));
    }
    socket.pipe(upstream).pipe(socket);
  });
  server.on('tlsClientError', () => undefined);
  return { ...(await listening(server, sockets)), clients, authorizations: [] };
}

/** Refuses every request and records its authorization header. */
async function startKeyedFront(): Promise<Front> {
  const authorizations: (string | undefined)[] = [];
  const sockets = new Set<net.Socket>();
  const server = http2.createSecureServer(serverOptions());
  server.on('secureConnection', (socket: net.Socket) => sockets.add(socket));
  server.on('stream', (stream, headers) => {
    authorizations.push(headers.authorization);
    const grpc = { 'grpc-status': '7', 'grpc-message': 'refused' };
    stream.respond({ ':status': 200, 'content-type': 'application/grpc', ...grpc }, { endStream: true });
  });
  return { ...(await listening(server, sockets)), clients: [], authorizations };
}

async function listening(server: net.Server, sockets: ReadonlySet<net.Socket>) {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
