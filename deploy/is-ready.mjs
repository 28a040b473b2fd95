// Exit code 0 when the process that tells its health at this port of this machine is ready: node is-ready.mjs 9470
const [port] = process.argv.slice(2);
const isReady = await globalThis.fetch(`http://127.0.0.1:${port}/readyz`).then(
  ({ ok }) => ok,
  () => false,
);
process.exit(isReady ? 0 : 1);
