import { ServiceError } from '@temporalio/client';
import { exitCodes, reportFailure } from '../src/command-error';
import { createOutput } from '../src/output/output';

it('a Temporal that goes away is one line with its reason and what to type', () => {
  let text = '';
  const stream = { write: (piece: unknown) => Boolean((text += String(piece))) };
  const output = createOutput({ json: false, stdout: stream, stderr: stream, env: {} });
  const cause = Object.assign(new Error('14 UNAVAILABLE: gone'), { code: 14, details: 'No connection established.' });
  const exitCode = reportFailure(output, new ServiceError('Failed to get Workflow execution history', { cause }));
  expect(text).toBe(
    'error: Temporal does not answer as it should (No connection established.). What it runs goes on when it is back. What is broken: fileconv doctor\n',
  );
  expect(exitCode).toBe(exitCodes.failed);
});
