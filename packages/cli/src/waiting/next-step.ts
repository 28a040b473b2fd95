import { shellWord } from 'temporal-file-conversion/internal/batch/report/wording';
import type { NextStep, Stall } from './stall';

/** What a person types about a stall; undefined when there is nothing to do but wait. */
export function nextStep(
  reason: Stall['reason'],
  { app, isLocal, batch, workflowId = '' }: { isLocal: boolean; app?: string; batch?: string; workflowId?: string },
): NextStep | undefined {
  const ofApp = app === undefined ? '' : ` --app ${shellWord(app)}`;
  switch (reason) {
    case 'stack':
      return { why: 'Start it', command: 'fileconv up' };
    case 'worker':
      return { why: 'Start one', command: isLocal ? 'fileconv up' : 'fileconv worker' };
    case 'paused':
      if (batch !== undefined) return { why: 'Go on', command: `fileconv batch resume ${shellWord(batch)}` };
      return { why: 'Go on', command: `temporal workflow unpause --workflow-id ${shellWord(workflowId)}` };
    case 'credits':
      return { why: 'When vCredits were added', command: `fileconv credits restored${ofApp}` };
    case 'temporal':
      return isLocal
        ? { why: 'Start the stack', command: 'fileconv up' }
        : { why: 'What is broken', command: 'fileconv doctor' };
    case 'service':
    case 'account':
    case 'appProfile':
      return { why: 'What is broken', command: `fileconv doctor${ofApp}` };
    case 'attempt':
      return { why: 'Whether anything is broken', command: `fileconv doctor${ofApp}` };
    case 'sharedFolder':
      return { why: 'Workers and where they are', command: 'fileconv doctor' };
    case 'slot':
      return { why: 'Workers and their limit', command: 'fileconv doctor' };
    default:
      return undefined;
  }
}
