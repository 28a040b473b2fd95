import { executeChild, workflowInfo } from '@temporalio/workflow';
import { conversionChildOptions, conversionJob } from 'temporal-file-conversion/workflows';

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
  const { output } = await executeChild(conversionJob, {
    // Listed and named as every other conversion job.
    ...conversionChildOptions(job),
    workflowId: `${workflowInfo().workflowId}/pdf`,
  });
  return output?.sha256 ?? '';
}
