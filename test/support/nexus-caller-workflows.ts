/** The workflows file of a caller, which knows only the service's definition. */
import { createNexusServiceClient } from '@temporalio/workflow';
import { conversionService } from '../../src/nexus';
import type { ConversionOperation } from './nexus-caller';

export async function callConversion(endpoint: string, operation: ConversionOperation, input: never): Promise<unknown> {
  const service = createNexusServiceClient({ service: conversionService, endpoint });
  return service.executeOperation(operation, input, { scheduleToCloseTimeout: '2 minutes' });
}
