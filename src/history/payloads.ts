import type { WorkflowHandle } from '@temporalio/client';
import { StorageDriverClaim, type LoadedDataConverter, type Payload } from '@temporalio/common';

/** Encodes and decodes values and errors as Temporal stores them, outside of the SDK's own calls. */

export type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;
type Failure = Parameters<LoadedDataConverter['failureConverter']['failureToError']>[0];
type Payloads = readonly Payload[] | null | undefined;

export async function encodePayload(converter: LoadedDataConverter, value: unknown): Promise<Payload[]> {
  let payloads = [converter.payloadConverter.toPayload(value)];
  for (const codec of converter.payloadCodecs) payloads = await codec.encode(payloads);
  return payloads;
}

export async function decodePayloads(converter: LoadedDataConverter, payloads: Payloads): Promise<unknown[]> {
  const decoded = await decode(converter, payloads);
  return decoded.map((payload) => converter.payloadConverter.fromPayload(payload));
}

export async function decodeFailure(
  converter: LoadedDataConverter,
  failure: Failure | null | undefined,
): Promise<Error | undefined> {
  if (!failure) return undefined;
  return converter.failureConverter.failureToError(await readable(converter, failure), converter.payloadConverter);
}

/** Decodes the messages of a failure and its causes; a message that can't be decoded is replaced by the reason. */
export async function withMessages(converter: LoadedDataConverter, failure: Failure): Promise<Failure> {
  const { encodedAttributes, cause } = failure;
  const [attributes] = encodedAttributes
    ? await decodePayloads(converter, [encodedAttributes]).catch((error: unknown) => [error])
    : [];
  const { message } = (attributes ?? failure) as Pick<Failure, 'message'>;
  return { ...failure, message: message ?? null, cause: cause ? await withMessages(converter, cause) : null };
}

async function readable(converter: LoadedDataConverter, failure: Failure): Promise<Failure> {
  const { encodedAttributes, cause, applicationFailureInfo, timeoutFailureInfo, canceledFailureInfo } = failure;
  const details = async (given: { payloads?: Payload[] | null } | null | undefined) =>
    given ? { payloads: await decode(converter, given.payloads) } : null;
  const [attributes = null] = encodedAttributes ? await decode(converter, [encodedAttributes]) : [];
  const [application, timeout, canceled] = await Promise.all([
    details(applicationFailureInfo?.details),
    details(timeoutFailureInfo?.lastHeartbeatDetails),
    details(canceledFailureInfo?.details),
  ]);
  return {
    ...failure,
    encodedAttributes: attributes,
    cause: cause ? await readable(converter, cause) : null,
    ...(applicationFailureInfo && { applicationFailureInfo: { ...applicationFailureInfo, details: application } }),
    ...(timeoutFailureInfo && { timeoutFailureInfo: { ...timeoutFailureInfo, lastHeartbeatDetails: timeout } }),
    ...(canceledFailureInfo && { canceledFailureInfo: { ...canceledFailureInfo, details: canceled } }),
  };
}

async function decode(converter: LoadedDataConverter, payloads: Payloads): Promise<Payload[]> {
  let decoded = await Promise.all((payloads ?? []).map((payload) => fetchStored(converter, payload)));
  if (decoded.length === 0) return decoded;
  for (const codec of converter.payloadCodecs.toReversed()) decoded = await codec.decode(decoded);
  return decoded;
}

const referenceType = 'temporal.api.sdk.v1.ExternalStorageReference';

/** Resolves a payload that refers to external storage. */
async function fetchStored({ externalStorage }: LoadedDataConverter, payload: Payload): Promise<Payload> {
  if (!externalStorage || Buffer.from(payload.metadata?.['messageType'] ?? []).toString() !== referenceType)
    return payload;
  const { driverName = '', claimData = {} } = JSON.parse(Buffer.from(payload.data ?? []).toString()) as {
    driverName?: string;
    claimData?: Record<string, string>;
  };
  const driver = externalStorage.getDriver(driverName);
  const [stored] = (await driver?.retrieve({}, [new StorageDriverClaim(claimData)])) ?? [];
  if (!stored)
    throw new Error(`the external storage ${JSON.stringify(driverName)} does not have a payload of the history`);
  return stored;
}
