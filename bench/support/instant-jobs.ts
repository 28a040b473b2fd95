import type { ConversionJobInput, ConversionJobResult } from '../../src/job/types';

/** The batch as it is, with jobs that are done as soon as they start. */
export { conversionBatch } from '../../src/workflows/batch/conversion-batch';

export function conversionJob({ destination = '' }: ConversionJobInput): Promise<ConversionJobResult> {
  return Promise.resolve({
    status: 'succeeded',
    taskId: '00000000-0000-4000-8000-000000000000',
    source: { bytes: 1, sha256: '0'.repeat(64) },
    output: { uri: destination, name: 'a.pdf', bytes: 1, sha256: '0'.repeat(64) },
    vcredits: 1,
    warnings: {},
    requests: 5,
    possiblyChargedTwice: false,
    charge: 'yes',
    phaseMs: {},
  });
}
