import { workflowInfo } from '@temporalio/workflow';
import { executeConversion } from 'temporal-file-conversion/workflows';

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
  const job = {
    app: 'invoices',
    source: { uri: invoice },
    output: 'pdf',
    destination: archive,
    onExisting: 'overwrite',
  } as const;
  // If this workflow is tried again, the job of this id is taken up, and nothing is paid for twice.
  const { output } = await executeConversion(job, { workflowId: `${workflowInfo().workflowId}/pdf` });
  return output?.sha256 ?? '';
}
