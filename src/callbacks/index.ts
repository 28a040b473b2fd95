/** Receives the callbacks of conversion services and wakes their jobs. */
export { CallbackKeyError, createCallbackUrl, ensureCallbackKeyFile, parseCallbackKeys } from './callback-url';
export type { CallbackKeys } from './callback-url';
export { createSignalJob, startCallbackReceiver } from './receiver';
export type { CallbackReceiver, CallbackReceiverOptions, ReceiverMetrics, SignalJob } from './receiver';
