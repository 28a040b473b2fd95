"""A workflow of another namespace, which has files converted through the Nexus service `conversion`."""

from dataclasses import dataclass
from typing import Any

import nexusrpc
from temporalio import workflow
from temporalio.exceptions import ApplicationError, NexusOperationError


@nexusrpc.service(name="conversion")
class Conversion:
    """Inputs and results are plain JSON: docs/embedding/schemas.json describes them."""

    convert: nexusrpc.Operation[dict[str, Any], dict[str, Any]]
    convertBatch: nexusrpc.Operation[dict[str, Any], dict[str, Any]]
    state: nexusrpc.Operation[dict[str, Any], dict[str, Any]]
    appReady: nexusrpc.Operation[dict[str, Any], dict[str, Any]]


@dataclass
class Invoice:
    endpoint: str
    app: str
    key: str
    source: str
    destination: str


@workflow.defn
class ArchiveInvoice:
    """Converts an invoice to PDF and returns the SHA-256 of the PDF."""

    @workflow.run
    async def run(self, invoice: Invoice) -> str:
        conversion = workflow.create_nexus_client(service=Conversion, endpoint=invoice.endpoint)
        try:
            result = await conversion.execute_operation(
                Conversion.convert,
                {
                    "key": invoice.key,
                    "app": invoice.app,
                    "source": {"uri": invoice.source},
                    "output": "pdf",
                    "destination": invoice.destination,
                },
            )
        except NexusOperationError as error:
            failure = job_failure(error)
            if failure is None:  # cancelled, or not a request that the service takes
                raise
            raise ApplicationError(failure.message, *failure.details, type=failure.type, non_retryable=True) from error
        return result["output"]["sha256"]


def job_failure(error: BaseException | None) -> ApplicationError | None:
    """The failure of the job itself; its type is the error code, its first detail tells what was charged."""
    while error is not None:
        if isinstance(error, ApplicationError) and error.type != "OperationError":
            return error
        error = error.__cause__
    return None
