import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client, Connection } from '@temporalio/client';
import type { archiveInvoice } from './workflows';

/** `node start.js INVOICE FOLDER`: starts one workflow and prints what it returns. */
async function main([invoice = 'invoice.docx', folder = 'archive']: string[]): Promise<void> {
  const connection = await Connection.connect({ address: process.env['TEMPORAL_ADDRESS'] ?? '127.0.0.1:7233' });
  const client = new Client({ connection });
  const sha256 = await client.workflow.execute<typeof archiveInvoice>('archiveInvoice', {
    workflowId: `archive-${path.basename(invoice)}`,
    taskQueue: 'invoices',
    args: [{ invoice: pathToFileURL(invoice).href, archive: `${pathToFileURL(folder).href}/` }],
  });
  console.log(`archived, sha256 ${sha256}`);
  await connection.close();
}

void main(process.argv.slice(2));
