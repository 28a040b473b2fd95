import { executeChild, workflowInfo } from '@temporalio/workflow';
import { conversionJob } from 'temporal-file-conversion/workflows';

// Registers conversionJob beside the workflows of this file.
export * from 'temporal-file-conversion/workflows';

export interface ArchiveInvoiceInput {
  /** `file:` URI of the invoice. */
  invoice: string;
  /** `file:` URI of the folder for its PDF; ends with a slash. */
  archive: string;
}

/** One more durable step among your own: the invoice becomes a PDF in the archive. */
export async function archiveInvoice({ invoice, archive }: ArchiveInvoiceInput): Promise<string> {
  const { output } = await executeChild(conversionJob, {
    workflowId: `${workflowInfo().workflowId}/pdf`,
    args: [{ app: 'invoices', source: { uri: invoice }, output: 'pdf', destination: archive, onExisting: 'overwrite' }],
  });
  return output?.sha256 ?? '';
}
