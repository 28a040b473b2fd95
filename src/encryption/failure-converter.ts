import { DefaultFailureConverter } from '@temporalio/common';

/**
 * Encodes message and stack trace of every failure as a payload, so that the codec encrypts them: messages name files and formats. Data
 * converters refer to it by path, and the workflow bundle contains it.
 */
export const failureConverter = new DefaultFailureConverter({ encodeCommonAttributes: true });
