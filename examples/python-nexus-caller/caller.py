"""python caller.py ENDPOINT APP KEY SOURCE_URI DESTINATION_URI: prints the SHA-256 of the converted file.

TEMPORAL_ADDRESS and TEMPORAL_NAMESPACE are the caller's; the endpoint leads to the namespace that converts.
"""

import asyncio
import os
import sys

from temporalio.client import Client, WorkflowFailureError
from temporalio.exceptions import ApplicationError, CancelledError
from temporalio.worker import Worker

from workflows import ArchiveInvoice, Invoice

TASK_QUEUE = "invoice-archive"


async def archive(invoice: Invoice) -> int:
    client = await Client.connect(
        os.environ.get("TEMPORAL_ADDRESS", "127.0.0.1:7233"),
        namespace=os.environ.get("TEMPORAL_NAMESPACE", "default"),
    )
    async with Worker(client, task_queue=TASK_QUEUE, workflows=[ArchiveInvoice]):
        try:
            print(
                await client.execute_workflow(
                    ArchiveInvoice.run, invoice, id=f"archive/{invoice.key}", task_queue=TASK_QUEUE
                )
            )
            return 0
        except WorkflowFailureError as error:
            return explain(error.cause)


def explain(cause: BaseException | None) -> int:
    if isinstance(cause, ApplicationError):
        print(f"{cause.type}: {cause.message}", file=sys.stderr)
    elif isinstance(cause, CancelledError):
        print("CANCELLED", file=sys.stderr)
    else:
        # A request that the service refuses: Nexus has told why.
        print(f"REFUSED: {cause.__cause__ if cause else cause}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    if len(sys.argv) != 6:
        sys.exit(__doc__)
    code = asyncio.run(archive(Invoice(*sys.argv[1:])))
    sys.stdout.flush()
    # Python ends under the threads of the SDK, which now and then abort the process then.
    os._exit(code)
