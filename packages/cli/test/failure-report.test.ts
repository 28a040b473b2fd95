import { ServiceError } from '@temporalio/client';
import { exitCodes, reportFailure } from '../src/command-error';
import { createOutput } from '../src/output/output';

function reported(error: unknown): [text: string, exitCode: number] {
  let text = '';
  const stream = { write: (piece: unknown) => Boolean((text += String(piece))) };
  const exitCode = reportFailure(createOutput({ json: false, stdout: stream, stderr: stream, env: {} }), error);
  return [text, exitCode];
}

it('a lost Temporal gives one line with the reason and what to type', () => {
  const cause = Object.assign(new Error('14 UNAVAILABLE: gone'), { code: 14, details: 'No connection established.' });
  const [text, exitCode] = reported(new ServiceError('Failed to get Workflow execution history', { cause }));
  expect(text).toBe(
    'error: Temporal does not answer as it should (No connection established.). What it runs continues when it is back. What is broken: fileconv doctor\n',
  );
  expect(exitCode).toBe(exitCodes.failed);
});

it('a refusal by Temporal gives one line with the reason', () => {
  const refusal = Object.assign(new Error('7 PERMISSION_DENIED: no'), { code: 7, details: 'Request unauthorized.' });
  expect(reported(refusal)).toEqual([
    'error: Temporal refuses this (Request unauthorized.). The credentials of this command lack the right to do that: ask who runs the server. What is set here: fileconv doctor\n',
    exitCodes.failed,
  ]);
});

it('a missing optional package gives one line with how to install it', () => {
  const missing = Object.assign(new Error("Cannot find module 'sharp'\nRequire stack:\n- /a/b.js"), {
    code: 'MODULE_NOT_FOUND',
  });
  expect(reported(missing)).toEqual([
    "error: Cannot find module 'sharp'. The embedded service needs the optional packages of fileconv, and this installation was made without them: install it again without --omit=optional, or use the image of the service.\n",
    exitCodes.failed,
  ]);
});
