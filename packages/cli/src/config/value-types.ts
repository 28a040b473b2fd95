import { isIP } from 'node:net';
import { isNoticeUrl, noticeUrlProblem } from 'temporal-file-conversion/job';
import { isLoopback } from 'temporal-file-conversion/network';
import { z } from 'zod';
import { parseDurationMs } from './duration';

declare module 'zod' {
  /** What scripts/config-reference.mjs needs about a key beyond JSON Schema. */
  interface GlobalMeta {
    /** Name of the type on the page. */
    shown?: string;
    /** What applies without a value, if that is no fixed default. */
    absent?: string;
    see?: string;
  }
}

const ifSecret = 'if this is the secret itself, take it out, and replace it if others could read it';

type Read<T> = (value: unknown) => T | undefined;

/**
 * A key whose value `read` must accept; `expected` completes "must be ...". `meta` expresses the same in JSON Schema, for values in
 * the file.
 */
function valueOf<T>(expected: string, meta: z.GlobalMeta, read: Read<T>) {
  const schema = z.unknown().transform((value, context): T => {
    const result = read(value);
    if (result !== undefined) return result;
    context.addIssue({ code: 'custom', message: `must be ${expected}${seen(value)}` });
    return z.NEVER;
  });
  return schema.meta(meta);
}

function textLike(expected: string, pattern: string) {
  return valueOf(expected, { type: 'string', pattern, shown: 'text' }, (value) => {
    const found = textOf(value)?.trim();
    return found !== undefined && new RegExp(pattern).test(found) ? found : undefined;
  });
}

export function text() {
  return textLike('non-empty text', '\\S');
}

/** The name of a variable with a secret. An invalid value may be the pasted secret, so messages do not repeat it. */
export function variable() {
  const pattern = '^\\s*(FILECONV_\\S+|[A-Z_][A-Z0-9_]*|[a-z_][a-z0-9_]*)\\s*$';
  return whereSecretIs(pattern, `must be the name of a variable, in capitals or in small letters; ${ifSecret}`);
}

/** The path of a file with a secret. A value that looks like a token or key may be the pasted secret, so it is not repeated. */
export function secretFile() {
  return whereSecretIs('^(?!\\s*([\\w:+=-]{32,}|\\S*=)\\s*$).*\\S', `must be the path of a file; ${ifSecret}`);
}

function whereSecretIs(pattern: string, problem: string) {
  return z
    .unknown()
    .refine((value) => new RegExp(pattern).test(textOf(value) ?? ''), problem)
    .transform((value) => String(value).trim())
    .meta({ type: 'string', pattern, shown: 'text' });
}

/** A list of names, restricted to `known` if given. A variable has them as text with commas. */
export function names(known?: readonly string[]) {
  const items = known ? { enum: [...known] } : { pattern: '\\S' };
  const meta: z.GlobalMeta = { type: 'array', items: { type: 'string', ...items }, shown: 'list of names' };
  const expected = known ? `a list of some of ${known.join(', ')}` : 'a list of names, for example ["invoices"]';
  return listOf(expected, meta, (name) => known?.includes(name) ?? name !== '');
}

export function hosts() {
  const meta: z.GlobalMeta = { type: 'array', items: { type: 'string', pattern: '\\S' }, shown: 'list of names' };
  const expected = 'a list of hosts, addresses and networks, for example ["files.example", "10.0.0.0/8"]';
  return listOf(expected, meta, isHost);
}

function listOf(expected: string, meta: z.GlobalMeta, fits: (text: string) => boolean) {
  return valueOf(expected, meta, (value) => {
    const list = typeof value === 'string' ? value.split(',') : value;
    if (!Array.isArray(list)) return undefined;
    const found = list.map((each: unknown) => (typeof each === 'string' ? each.trim() : ''));
    return found.every(fits) ? found : undefined;
  });
}

function isHost(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/');
  const longest = { 0: -1, 4: 32, 6: 128 }[isIP(address)] ?? -1;
  if (longest < 0) return /^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$/i.test(text);
  return more.length === 0 && (bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest));
}

/** The server joins the name and a build id with a dot, and reserves names that begin with "__". */
export function deploymentName() {
  return textLike('text without dots and colons, not beginning with "__"', '^(?!__)[^.:]+$');
}

export function integer(min: number, max: number) {
  const meta: z.GlobalMeta = { type: 'integer', minimum: min, maximum: max, shown: `${min} to ${max}` };
  return valueOf(`a whole number from ${min} to ${max}`, meta, (value) => {
    const number = numberOf(value, min, max);
    return Number.isInteger(number) ? number : undefined;
  });
}

export function bytes(min: number) {
  return integer(min, Number.MAX_SAFE_INTEGER).meta({ shown: 'bytes' });
}

export function seconds() {
  const [minimum, maximum] = [0.001, 86_400] as const;
  const meta: z.GlobalMeta = { type: 'number', minimum, maximum, shown: 'seconds' };
  return valueOf('a number of seconds from 0.001 to 86400', meta, (value) => numberOf(value, minimum, maximum));
}

export function duration() {
  const examples = ['90 seconds', '10 minutes', '7 days'];
  const meta: z.GlobalMeta = {
    type: 'string',
    pattern: '^\\s*\\d+(\\.\\d+)? *[A-Za-z]+\\s*$',
    examples,
    shown: 'duration',
  };
  return valueOf('a time with its unit, for example "10 minutes" or "7 days"', meta, (value) => {
    const found = textOf(value);
    return found === undefined ? undefined : parseDurationMs(found);
  });
}

export function choice<const T extends string>(...choices: T[]) {
  const expected = `one of ${choices.map((each) => `"${each}"`).join(', ')}`;
  const shown = choices.map((each) => `\`"${each}"\``).join(', ');
  const switched = choices.every((each) => each === 'on' || each === 'off') ? [true, false] : [];
  return valueOf(expected, { enum: [...choices, ...switched], shown }, (value) => {
    const asText = typeof value === 'boolean' ? (value ? 'on' : 'off') : textOf(value);
    return choices.find((each) => each === asText);
  });
}

export function listenAddress() {
  const examples = ['127.0.0.1:9464'];
  const meta: z.GlobalMeta = { type: 'string', pattern: ':\\d{1,5}\\s*$', examples, shown: '`IP:PORT`' };
  return valueOf('an IP address and a port, for example "127.0.0.1:9464"', meta, (value) => {
    const [, host = '', port = ''] = /^\[?([^[\]]+)\]?:(\d{1,5})$/.exec(textOf(value)?.trim() ?? '') ?? [];
    const family = isIP(host);
    // Without brackets the end of an IPv6 address is ambiguous.
    if (family === 0 || (family === 6 && !/^\[.*\]:/.test(textOf(value)?.trim() ?? ''))) return undefined;
    if (Number(port) < 1 || Number(port) > 65_535) return undefined;
    return family === 6 ? `[${host}]:${Number(port)}` : `${host}:${Number(port)}`;
  });
}

/** Whether `host:port` leads to this machine. An IPv6 address needs brackets, without which its end is ambiguous. */
export function isLoopbackAddress(address: string): boolean {
  const host = address.replace(/:\d{1,5}$/, '');
  return isIP(host) !== 6 && isLoopback(host);
}

/** Replaces `localhost` in an address or origin with `127.0.0.1`. */
export function byLoopbackNumber(address: string): string {
  return address.replace(/(?<=^|:\/\/)localhost(?=:|$)/i, '127.0.0.1');
}

/** The base URL of a service, without a trailing slash. */
export function baseUrl() {
  const schema = z.unknown().transform((value, context): string => {
    const found = textOf(value);
    const url = found !== undefined && URL.canParse(found) ? new URL(found) : undefined;
    const refuse = (message: string) => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
      return refuse('must be an http or https URL, for example "https://api.example.com"');
    }
    // From here on messages do not repeat the value, which may hold a password.
    if (url.username !== '' || url.password !== '') {
      return refuse('must not hold a user name or password: secrets have settings and variables of their own');
    }
    if (url.search !== '' || url.hash !== '') return refuse('must end with its path, without "?" or "#"');
    const base = url.href.replace(/\/+$/, '');
    return base.endsWith('/v1') ? refuse('must end before /v1, which every request adds') : base;
  });
  return schema.meta({ type: 'string', format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?:', shown: 'URL' });
}

/** The URL that receives events; it may have a query, by which some listeners are identified. */
export function noticeUrl() {
  // The message does not repeat the value, which may hold a password.
  const meta: z.GlobalMeta = { type: 'string', format: 'uri', pattern: '^[Hh][Tt][Tt][Pp][Ss]?:', shown: 'URL' };
  return z
    .unknown()
    .refine((value) => isNoticeUrl(value), noticeUrlProblem)
    .transform(String)
    .meta(meta);
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** Accepts text too, for variables. */
function numberOf(value: unknown, min: number, max: number): number | undefined {
  const text = textOf(value)?.trim() ?? '';
  const number = /^[+-]?\d[\d_]*(\.\d+)?$/.test(text) ? Number(text.replaceAll('_', '')) : value;
  return typeof number === 'number' && number >= min && number <= max ? number : undefined;
}

function seen(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return `, not "${value}"`;
  if (typeof value === 'number' || typeof value === 'boolean') return `, not ${value}`;
  return Array.isArray(value) ? ', not a list' : ', not a table';
}
