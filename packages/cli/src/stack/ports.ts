import path from 'node:path';
import { z } from 'zod';
import type { CommandContext } from '../command-context';
import { acquireProcessLock, defaultCacheDir, freePort, portNear } from '../dev-server';
import { recordFile, type StackRecord } from './stack-record';

export interface StackPorts {
  temporal: number;
  temporalUi: number;
  service: number;
  callbacks: number;
  codec: number;
  /** Lets another stack have the well-known ports. */
  release: () => void;
}

/** Parts that have a port of their own in the configuration. */
type Part = 'service' | 'callbacks' | 'codec';

const wellKnown = { temporal: 7233, temporalUi: 8233 };

const port = z.int().min(1).max(65_535);

/** Where the folder's Temporal was before: commands that wait for it go on there. */
export const temporalPort = recordFile('temporal-port.json', port);

/** The port of the folder's last receiver, at which its unfinished conversions call back. */
export const receiverPort = recordFile('receiver-port.json', port);

/**
 * The well-known ports, as far as they are free, or others when another stack of this user has them.
 *
 * They are held as long as the stack runs, also while a part is down: two stacks that share a port would hand each other's jobs to
 * their workers.
 */
export async function claimPorts(
  { config, env, homeDir }: Pick<CommandContext, 'config' | 'env' | 'homeDir'>,
  startedBy: StackRecord['startedBy'],
): Promise<StackPorts> {
  const file = path.join(defaultCacheDir(env, homeDir), 'well-known-ports.lock');
  // Held by another stack, or in a folder that can't be written: any other ports will do.
  const lock = await acquireProcessLock(file, { wait: false }).catch(() => undefined);
  const choose = (usual: number) => (lock && usual !== 0 ? portNear(usual) : freePort());
  const choosePart = (part: Part) => {
    const configured = config.values[part].port;
    return isConfigured(config, part) ? configured : choose(configured);
  };
  const chooseReceiverPort = async () => {
    if (isConfigured(config, 'callbacks') || (lock && startedBy === 'up')) return choosePart('callbacks');
    // Not the well-known one, which the next stack of another folder would have.
    const before = await receiverPort.read(config.values.state.dir);
    return before === undefined ? freePort() : portNear(before);
  };
  const chooseTemporalPort = async () => {
    const before = await temporalPort.read(config.values.state.dir);
    const isOurs = before !== undefined && (before !== wellKnown.temporal || lock !== undefined);
    return isOurs ? portNear(before) : choose(wellKnown.temporal);
  };
  try {
    return {
      temporal: await chooseTemporalPort(),
      temporalUi: await choose(wellKnown.temporalUi),
      service: await choosePart('service'),
      callbacks: await chooseReceiverPort(),
      codec: await choosePart('codec'),
      release: () => lock?.release(),
    };
  } catch (error) {
    lock?.release();
    throw error;
  }
}

function isConfigured({ values, origins }: CommandContext['config'], part: Part): boolean {
  return origins[`${part}.port`] !== undefined && values[part].port !== 0;
}

export function portOf(url: string): number {
  return Number(new URL(url).port);
}
