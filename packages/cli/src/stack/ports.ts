import path from 'node:path';
import { z } from 'zod';
import type { CommandContext } from '../command-context';
import { defaultCacheDir, freePort, portNear, tryProcessLock } from '../dev-server';
import { recordFile, type StackRecord } from './stack-record';

const port = z.int().min(1).max(65_535);
const portsSchema = z.object({ temporal: port, temporalUi: port, service: port, callbacks: port, codec: port });
type Ports = z.infer<typeof portsSchema>;

export interface StackPorts extends Ports {
  /** Lets another stack have the well-known ports. */
  release: () => void;
}

/** Where the parts of the folder's last stack were: commands that wait for it go on there, and its conversions call back there. */
const lastPorts = recordFile('ports.json', portsSchema);

const ofTemporal = { temporal: 7233, temporalUi: 8233 };

/**
 * The ports of the configuration, or the well-known ones, as far as they are free; those of the folder's last stack, or others, when
 * another stack of this user has them. Temporal is where it was, since commands wait for it there.
 *
 * They are held as long as the stack runs, also while a part is down: two stacks that share a port would hand each other's jobs to
 * their workers.
 */
export async function claimPorts(
  { config, env, homeDir }: Pick<CommandContext, 'config' | 'env' | 'homeDir'>,
  startedBy: StackRecord['startedBy'],
): Promise<StackPorts> {
  const { values, origins } = config;
  const { dir } = values.state;
  const file = path.join(defaultCacheDir(env, homeDir), 'well-known-ports.lock');
  // Held by another stack, or in a folder that can't be written: any other ports will do.
  const lock = await tryProcessLock(file).catch(() => undefined);
  const before = await lastPorts.read(dir);
  const choose = async (part: keyof Ports): Promise<number> => {
    const usual = part === 'temporal' || part === 'temporalUi' ? ofTemporal[part] : values[part].port;
    if (usual !== 0 && origins[`${part}.port`] !== undefined) return usual;
    // A command's receiver leaves the well-known port to the next stack of another folder, which would be called back there.
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
