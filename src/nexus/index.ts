/** The Nexus service `conversion` for workflows that call it from other namespaces; the worker's side is not here. */
export { conversionService } from '../shared/nexus-service';
export type {
  ConversionStateOutput,
  ConvertBatchInput,
  ConvertInput,
  CreditsRestoredInput,
  CreditsRestoredOutput,
  StateInput,
} from '../shared/nexus-service';
