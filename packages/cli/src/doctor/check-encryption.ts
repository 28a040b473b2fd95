import type { Client } from '@temporalio/client';
import { DecryptionError } from 'temporal-file-conversion/internal/encryption/encryption-codec';
import { conversionJobType } from 'temporal-file-conversion/internal/shared/names';
import type { CommandContext } from '../command-context';
import { CommandError } from '../command-error';
import { readEncryptionKeys } from '../encryption-settings';
import type { Finding } from './finding';
import { broken, ok } from './finding';

const part = 'encryption';

/** Undefined when there are keys, or none are asked for. */
export async function unusableKeys(context: CommandContext): Promise<Finding | undefined> {
  try {
    await readEncryptionKeys(context);
    return undefined;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    return broken(part, error.message, 'Correct encryption.key_file or key_env: fileconv config show');
  }
}

/** Whether the newest job can be read with the keys here. Nothing to tell when encryption is off and nobody encrypts. */
export async function checkEncryption(context: CommandContext, client: Client): Promise<Finding[]> {
  let isSeen = false;
  try {
    const query = `WorkflowType = '${conversionJobType}'`;
    for await (const { workflowId, runId } of client.workflow.list({ query, pageSize: 1 })) {
      await (await client.workflow.getHandle(workflowId, runId).describe()).staticSummary();
      isSeen = true;
      break;
    }
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    return [broken(part, `the newest job: ${error.problem}`, capitalised(error.cure))];
  }
  const keys = await readEncryptionKeys(context);
  if (!keys) return [];
  const others = [...keys.byId.keys()].filter((id) => id !== keys.current.id);
  const says = [
    `on, with the key ${keys.current.id}`,
    ...(others.length > 0 ? [`also reads ${others.join(', ')}`] : []),
    ...(isSeen ? ['the newest job can be read'] : []),
  ];
  return [ok(part, says.join('; '))];
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
