import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Puts the message and the stack trace of every failure into a payload, where the codec encrypts them: messages name files and formats. Named by
 * its path in a data converter, and part of the workflow bundle.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
