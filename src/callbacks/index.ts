/** Receives the callbacks of conversion services and wakes their jobs. */
export { parseCallbackKeys } from './callback-url';
export type { CallbackKeys } from './callback-url';
export { startCallbackReceiver } from './receiver';
export type { CallbackReceiver, CallbackReceiverOptions, ReceiverMetrics } from './receiver';
export { createSignalJob } from './signal-job';
