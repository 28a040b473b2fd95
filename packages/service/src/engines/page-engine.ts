import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { z } from 'zod';
import {
  describeMissing,
  ConversionFailure,
  type EngineRequest,
  type Converted,
  millimetresPerInch,
  papers,
  type Parameters,
} from './conversion';
import { readInput, readInputText } from './input';
import { describeMissingGlyphs } from './missing-glyphs';
import { checkPdf } from './pdf/pdf-check';
import { endOfProgram, environmentOf, homeOf, pathOf, programs, workFolderOf } from './programs';

/** Prints a page with Chromium, through its DevTools protocol over a pipe. The page has no address, no scripts and no network. */

const defaultMargin = 10;

/** Addresses of what a page shows besides its text, and of the pictures of its styles. */
const shownFiles =
  /<(?:img|image|source|input|embed|iframe|object|video|link\b(?=[^>]*\bstylesheet\b))\b[^>]*?\s(?:src|data|href|xlink:href|poster)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s>]+))|\burl\(\s*["']?([^"')]+)/gi;

/** Files beside the page. Chromium does not request them, because a page without an address has no relative ones. */
function filesBeside(html: string): string[] {
  const addresses = Array.from(html.matchAll(shownFiles), (found) => found.slice(1).find(Boolean)?.trim() ?? '');
  return addresses.filter((address) => address !== '' && !/^(?:[a-z][a-z\d+.-]*:|\/\/|#)/i.test(address));
}

/** A refresh would leave the page, at an unpredictable moment, for one that may not be loaded. */
const forwarding = /<meta\b[^>]*\bhttp-equiv\s*=\s*["']?refresh\b[^>]*>/gi;

export async function printPage(request: EngineRequest): Promise<Converted> {
  const { text, warnings } = readInputText(await readInput(request), request.inputFormat);
  const browser = startBrowser(request);
  try {
    const { targetId } = await browser.ask('Target.createTarget', { url: 'about:blank' }, targetSchema);
    await browser.enter(targetId);
    await browser.ask('Page.enable');
    await browser.ask('Network.enable');
    await browser.ask('Network.setBlockedURLs', { urls: ['*://*'] });
    await browser.ask('Emulation.setScriptExecutionDisabled', { value: true });
    const { frameTree } = await browser.ask('Page.getFrameTree', {}, frameSchema);
    const loaded = browser.event('Page.loadEventFired');
    const html = `${text.replace(forwarding, '')}${unscrolled}`;
    await browser.ask('Page.setDocumentContent', { frameId: frameTree.frame.id, html });
    await loaded;
    const layout = layoutOf(request.parameters);
    const { shown, scale } = await unroll(browser, layout);
    const { data } = await browser.ask('Page.printToPDF', { ...layout, scale }, printSchema);
    const pdf = Buffer.from(data, 'base64');
    const asked = browser.requested.filter((url) => !url.startsWith('data:') && !url.startsWith('about:'));
    const missing = [...asked, ...filesBeside(html)];
    const { warnings: glyphs, shown: written } = await describeMissingGlyphs(shown);
    const lost = await checkPdf(pdf, { text: request.parameters.pages === undefined ? written : '', isSet: false });
    return { data: pdf, warnings: { ...warnings, ...glyphs, ...lost, ...describeMissing(missing) } };
  } finally {
    await browser.close();
  }
}

/** Content that scrolls on a screen would be cut off on paper. */
const mark = 'data-unscrolled';
const unscrolled = `<style>@media print {
  html, body { height: auto !important; max-height: none !important; overflow: visible !important }
  [${mark}] { height: auto !important; max-height: none !important; overflow: visible !important }
}</style>`;
const pixelsPerInch = 96;
const minScale = 0.4;

const ofElement = 1;
const snapshotSchema = z.object({
  strings: z.array(z.string()),
  documents: z.array(
    z.object({
      nodes: z.object({
        backendNodeId: z.array(z.number()),
        nodeType: z.array(z.number()),
        parentIndex: z.array(z.number()),
        pseudoType: z.object({ index: z.array(z.number()) }).optional(),
      }),
      layout: z.object({
        nodeIndex: z.array(z.number()),
        styles: z.array(z.array(z.number())),
        bounds: z.array(z.array(z.number())),
        text: z.array(z.number()),
      }),
    }),
  ),
});

/**
 * Makes a page print what a reader would scroll to: nothing scrolls, and content that is too wide is scaled down.
 * @returns the text that the page shows, wherever it is laid out.
 */
async function unroll(browser: ReturnType<typeof startBrowser>, layout: ReturnType<typeof layoutOf>) {
  const width = Math.round((layout.paperWidth - layout.marginLeft - layout.marginRight) * pixelsPerInch);
  const height = Math.round((layout.paperHeight - layout.marginTop - layout.marginBottom) * pixelsPerInch);
  await browser.ask('Emulation.setEmulatedMedia', { media: 'print' });
  await browser.ask('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  const computedStyles = ['overflow-x', 'overflow-y', 'visibility', 'clip', 'clip-path'];
  const { strings, documents } = await browser.ask('DOMSnapshot.captureSnapshot', { computedStyles }, snapshotSchema);
  const [page] = documents;
  if (!page) return { shown: '', scale: 1 };
  const { nodes, layout: boxes } = page;
  const pseudo = new Set(nodes.pseudoType?.index);
  const scrolling = new Set<number>();
  const concealed = new Set<number>();
  const texts: string[] = [];
  for (const [index, node] of boxes.nodeIndex.entries()) {
    const [overflowX = '', overflowY = '', visibility, clip, clipPath] = (boxes.styles[index] ?? []).map(
      (each) => strings[each],
    );
    const [x = 0, y = 0, boxWidth = 0, boxHeight = 0] = boxes.bounds[index] ?? [];
    if (/auto|scroll/.test(overflowX + overflowY) && nodes.nodeType[node] === ofElement && !pseudo.has(node)) {
      scrolling.add(nodes.backendNodeId[node] ?? 0);
    }
    const isSmall = boxWidth <= 1 || boxHeight <= 1;
    const isClipped = (clip ?? 'auto') !== 'auto' || (clipPath ?? 'none') !== 'none' || overflowX === 'hidden';
    // Hidden from sight, for screen readers only.
    const isConcealed = (isSmall && isClipped) || concealed.has(nodes.parentIndex[node] ?? -1);
    if (isConcealed) concealed.add(node);
    const isShown = visibility !== 'hidden' && !isConcealed && x + boxWidth > 0 && y + boxHeight > 0;
    const text = strings[boxes.text[index] ?? -1];
    if (isShown && text !== undefined) texts.push(text);
  }
  await markNodes(browser, [...scrolling]);
  const { cssContentSize } = await browser.ask('Page.getLayoutMetrics', {}, metricsSchema);
  const scale = Math.min(1, Math.max(minScale, width / cssContentSize.width));
  return { shown: texts.join('\n'), scale };
}

async function markNodes(browser: ReturnType<typeof startBrowser>, backendNodeIds: readonly number[]): Promise<void> {
  if (backendNodeIds.length === 0) return;
  await browser.ask('DOM.enable');
  await browser.ask('DOM.getDocument');
  const { nodeIds } = await browser.ask('DOM.pushNodesByBackendIdsToFrontend', { backendNodeIds }, idsSchema);
  for (const nodeId of nodeIds) await browser.ask('DOM.setAttributeValue', { nodeId, name: mark, value: '' });
}

function layoutOf({ page_size, margin, pages }: Parameters) {
  const [paperWidth, paperHeight] = papers[page_size ?? 'a4'];
  const inches = (margin ?? defaultMargin) / millimetresPerInch;
  const margins = { marginTop: inches, marginBottom: inches, marginLeft: inches, marginRight: inches };
  return {
    ...{ paperWidth, paperHeight, ...margins, printBackground: true, preferCSSPageSize: page_size === undefined },
    ...(pages !== undefined && { pageRanges: pages }),
  };
}

const targetSchema = z.object({ targetId: z.string() });
const sessionSchema = z.object({ sessionId: z.string() });
const printSchema = z.object({ data: z.string() });
const metricsSchema = z.object({ cssContentSize: z.object({ width: z.number() }) });
const idsSchema = z.object({ nodeIds: z.array(z.number()) });
const frameSchema = z.object({ frameTree: z.object({ frame: z.object({ id: z.string() }) }) });
const messageSchema = z.object({
  id: z.number().optional(),
  method: z.string().optional(),
  params: z.object({ request: z.object({ url: z.string() }).optional().catch(undefined) }).optional(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
});

/** Chromium's sockets need short paths, so they go to its working folder, which is removed however the conversion ends. */
const shortPath = '/proc/self/cwd';

function startBrowser(request: EngineRequest) {
  const temporary = existsSync(shortPath) ? shortPath : homeOf(request);
  // Chromium's own sandbox needs namespaces, which root and confined processes do not get.
  const isShutIn = process.getuid?.() === 0 || process.ppid === 1;
  const child = spawn(
    pathOf(programs.chromium),
    [
      ...['--headless', '--remote-debugging-pipe', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'],
      ...['--disable-extensions', '--disable-background-networking', '--disable-crash-reporter', '--disable-breakpad'],
      // The protocol's script switch misses frames that a page creates, and host rules do not stop WebRTC's own packets.
      ...['--blink-settings=scriptEnabled=false', '--force-webrtc-ip-handling-policy=disable_non_proxied_udp'],
      ...['--host-resolver-rules=MAP * ~NOTFOUND', `--user-data-dir=${path.join(homeOf(request), 'browser')}`],
      ...(isShutIn ? ['--no-sandbox'] : []),
    ],
    {
      cwd: workFolderOf(request),
      env: { ...environmentOf(request), TMPDIR: temporary },
      stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
    },
  );
  const [, , , commands, answers] = child.stdio as unknown as [null, null, null, Writable, Readable];
  const waiting = new Map<number, { resolve: (result: unknown) => void; reject: (error: Error) => void }>();
  const listeners = new Map<string, () => void>();
  const requested: string[] = [];
  let gone: Error | undefined;
  const end = (reason: string): void => {
    gone ??= new ConversionFailure(`Chromium could not print the page (${reason}).`);
    for (const { reject } of waiting.values()) reject(gone);
  };
  child.once('error', (error) => end(error.message));
  child.once('exit', (code, signal) => {
    gone ??= endOfProgram('chromium', { code, signal, says: '' });
    end(signal ?? `exit code ${code ?? '?'}`);
  });
  commands.on('error', () => undefined);
  let unread = '';
  answers.setEncoding('utf8').on('data', (text: string) => {
    const messages = (unread + text).split('\0');
    unread = messages.pop() ?? '';
    for (const message of messages) take(messageSchema.parse(JSON.parse(message)));
  });

  function take({ id, method, params, result, error }: z.output<typeof messageSchema>): void {
    if (method === 'Network.requestWillBeSent' && params?.request) requested.push(params.request.url);
    if (method !== undefined) listeners.get(method)?.();
    const asked = id === undefined ? undefined : waiting.get(id);
    if (!asked || id === undefined) return;
    waiting.delete(id);
    if (error) asked.reject(new ConversionFailure(`Chromium could not print the page (${error.message}).`));
    else asked.resolve(result);
  }

  let asked = 0;
  let session = {};
  const ask = async <Answer>(method: string, params: object = {}, schema: z.ZodType<Answer> = z.any()) => {
    if (gone) throw gone;
    const id = (asked += 1);
    const answer = new Promise<unknown>((resolve, reject) => waiting.set(id, { resolve, reject }));
    commands.write(`${JSON.stringify({ id, method, params, ...session })}\0`);
    return schema.parse(await answer);
  };
  return {
    requested,
    ask,
    /** Sends all further commands to this page. */
    async enter(targetId: string): Promise<void> {
      session = await ask('Target.attachToTarget', { targetId, flatten: true }, sessionSchema);
    },
    event: (method: string) => new Promise<void>((resolve) => listeners.set(method, resolve)),
    async close(): Promise<void> {
      if (gone) return;
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGKILL');
      await exited;
    },
  };
}
