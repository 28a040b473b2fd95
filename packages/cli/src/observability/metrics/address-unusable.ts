import { systemErrorCode } from 'temporal-file-conversion/internal/shared/system-error';
import { CommandError } from '../../command-error';

/** A process can't listen where its configuration says: which key to change. */
export function addressUnusable(
  error: unknown,
  {
    what,
    section,
    key,
    address,
  }: {
    /** Begins a sentence, for example `Metrics`. */
    what: string;
    /** Of the configuration, which the address comes from. */
    section: 'worker' | 'service' | 'callbacks';
    key: 'metrics_address' | 'health_address';
    address: string;
  },
): CommandError {
  const variable = `FILECONV_${section}_${key}`.toUpperCase();
  const reason =
    systemErrorCode(error) === 'EADDRINUSE'
      ? `Another program listens on ${address}`
      : `${what} can't be told at ${address} (${systemErrorCode(error) ?? 'unknown error'})`;
  const problem = `${reason}. Give this process another address (${variable}), or leave ${section}.${key} out.`;
  return new CommandError('SERVICE_UNUSABLE', [problem], { cause: error });
}
