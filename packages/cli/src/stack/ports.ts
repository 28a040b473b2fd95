import path from 'node:path';
import { z } from 'zod';
import type { CommandContext } from '../command-context';
import { defaultCacheDir, freePort, portNear, tryProcessLock } from '../dev-server';
import { recordFile } from '../process/record-file';
import type { StackRecord } from './stack-record';

const port = z.int().min(1).max(65_535);
const portsSchema = z.object({ temporal: port, temporalUi: port, service: port, callbacks: port, codec: port });
type Ports = z.infer<typeof portsSchema>;

export interface StackPorts extends Ports {
  /** Gives up the well-known ports for other stacks. */
  release: () => void;
}

/** Ports of the folder's last stack: waiting commands and callbacks of its conversions still use them. */
const lastPorts = recordFile('ports.json', portsSchema);

const ofTemporal = { temporal: 7233, temporalUi: 8233 };

/**
 * The configured ports, or the well-known ones if they are free. If another stack of this user has those, the ports of the folder's
 * last stack, or others. Temporal keeps its last port, because commands wait for it there.
 *
 * The ports are held while the stack runs, even while a part is down: two stacks that shared a port would hand their jobs to each
 * other's workers.
 */
export async function claimPorts(
  { config, env, homeDir }: Pick<CommandContext, 'config' | 'env' | 'homeDir'>,
  startedBy: StackRecord['startedBy'],
): Promise<StackPorts> {
  const { values, origins } = config;
  const { dir } = values.state;
  const file = path.join(defaultCacheDir(env, homeDir), 'well-known-ports.lock');
  // Another stack has the lock, or its folder is not writable: other ports will do.
  const lock = await tryProcessLock(file).catch(() => undefined);
  const before = await lastPorts.read(dir);
  const choose = async (part: keyof Ports): Promise<number> => {
    const usual = part === 'temporal' || part === 'temporalUi' ? ofTemporal[part] : values[part].port;
    if (usual !== 0 && origins[`${part}.port`] !== undefined) return usual;
    // A command's receiver leaves the well-known port free: the next stack of another folder would get its callbacks there.
    const mayBeUsual = lock !== undefined && usual !== 0 && !(part === 'callbacks' && startedBy === 'command');
    const last = before?.[part];
    const isLastOurs = last !== undefined && (last !== usual || lock !== undefined);
    if (isLastOurs && (part === 'temporal' || !mayBeUsual)) return portNear(last);
    return mayBeUsual ? portNear(usual) : freePort();
  };
  try {
    const ports: Ports = {
      temporal: await choose('temporal'),
      temporalUi: await choose('temporalUi'),
      service: await choose('service'),
      callbacks: await choose('callbacks'),
      codec: await choose('codec'),
    };
    await lastPorts.write(dir, ports);
    return { ...ports, release: () => lock?.release() };
  } catch (error) {
    lock?.release();
    throw error;
  }
}
