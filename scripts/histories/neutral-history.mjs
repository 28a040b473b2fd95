// A history as text that holds nothing of the machine it was recorded on, one event a line.
import { Buffer } from 'node:buffer';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { historyToJSON } = require('@temporalio/common/lib/proto-utils');

/** What is other with each recording, and what no replay looks at. */
const noise = ['workerVersion', 'requestId', 'taskId', 'meteringMetadata'];

/** `names`: `[what is found, what stands in its place]`. */
export function toNeutralHistory(history, names) {
  const { events } = JSON.parse(historyToJSON(history));
  const lines = events.map((event) => JSON.stringify(neutral(event, names)));
  return `{"events":[\n${lines.join(',\n')}\n]}\n`;
}

function neutral(value, names) {
  if (typeof value === 'string') return replaceNames(value, names);
  if (Array.isArray(value)) return value.map((each) => neutral(each, names));
  if (typeof value !== 'object' || value === null) return value;
  if (isPayload(value)) return { ...value, data: replaceInBase64(value.data, names) };
  const kept = Object.entries(value).filter(([key]) => !noise.includes(key));
  const entries = kept.map(([key, each]) => {
    // Frames of the recording's own code, by its paths.
    if (key === 'stackTrace') return [key, ''];
    if (key === 'identity') return [key, typeof each === 'string' && each.includes('@') ? 'worker' : each];
    return [key, neutral(each, names)];
  });
  return Object.fromEntries(entries);
}

function isPayload(value) {
  return typeof value.data === 'string' && typeof value.metadata === 'object';
}

function replaceInBase64(base64, names) {
  const text = Buffer.from(base64, 'base64').toString('utf8');
  return Buffer.from(replaceNames(text, names)).toString('base64');
}

function replaceNames(text, names) {
  const named = names.reduce((changed, [found, neutralName]) => changed.replaceAll(found, neutralName), text);
  // Ports are free ones, other with each recording.
  return named.replace(/\b127\.0\.0\.1:\d+/g, '127.0.0.1:8465');
}
