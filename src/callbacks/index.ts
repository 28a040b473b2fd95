/** Receives the callbacks of conversion services and wakes their jobs. */
export { parseCallbackKeys } from './callback-key';
export type { CallbackKeys } from './callback-key';
export { startCallbackReceiver } from './receiver';
export type { CallbackReceiver, CallbackReceiverOptions, ReceiverMetrics } from './receiver';
export { createSignalJob } from './signal-job';
