// npm run chaos [-- --batch]: kills at random within one batch (chaos-batch.mjs). With --stopped: a worker is stopped and wakes
// (chaos-stopped-worker.mjs).
const isStopped = process.argv.includes('--stopped');
if (isStopped) await (await import('./chaos-stopped-worker.mjs')).playStops();
else await (await import('./chaos-batch.mjs')).playBatch();
