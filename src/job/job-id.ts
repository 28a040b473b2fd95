import { placeOf } from './types';

const maxPartLength = 80;

/**
 * The id of the job that writes to a destination, which is a file. It does not depend on the caller, so only one such job runs at a time:
 * `invoices/invoice-17.pdf-9a1c3f2a91c04bd7`. Ids are never encrypted: `isHidden` leaves the names out.
 *
 * @param options.number from 2, for another source whose result gets a number in its name (`onExisting: 'rename'`).
 */
export function jobIdOf(
  destination: string,
  { isHidden = false, number = 1 }: { isHidden?: boolean | undefined; number?: number | undefined } = {},
): string {
  const place = placeOf(destination);
  const suffix = `${digest(place)}${number > 1 ? `-${number}` : ''}`;
  if (isHidden) return suffix;
  const parts = place
    .split('/')
    .slice(-2)
    .map(readable)
    .filter((part) => part !== '');
  return `${parts.join('/')}-${suffix}`;
}

/**
 * The destination of a job whose id has a number, `report%20(1).pdf` for 2, so that concurrent jobs do not compete for a name.
 */
export function numberedDestination(destination: string, number: number): string {
  if (number === 1) return destination;
  return destination.replace(/([^/])(\.[^./]{1,32})?$/, (_end, last: string, extension = '') => {
    return `${last}%20(${number - 1})${extension as string}`;
  });
}

function readable(name: string): string {
  return Array.from(name.replace(/[^\p{L}\p{N}._-]+/gu, '-'))
    .slice(0, maxPartLength)
    .join('');
}

/** 64-bit FNV-1a: workflow code has no `node:crypto`. */
function digest(text: string): string {
  let hash = 0xcbf29ce484222325n;
  for (const character of text) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(character.codePointAt(0) ?? 0)) * 0x100000001b3n);
  }
  return hash.toString(16).padStart(16, '0');
}
