import { createHash } from 'node:crypto';
import {
  AbortMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  type MultipartUpload,
  type S3Client,
} from '@aws-sdk/client-s3';
import { answerOf } from './errors';
import { isFolder, type ObjectPlace } from './object-uri';
import { markNumber } from './upload';

/** The content of the part that shows whose upload it is: a listing tells keys and parts, but nothing of one's own. */
export function markOf(jobKey: string): Buffer {
  return createHash('sha256').update(`fileconv ${jobKey}`).digest();
}

/** Ends the uploads that any attempt of the job has left in a folder, or under any name that `rename` made of one. */
export async function discardUploads(client: S3Client, place: ObjectPlace, jobKey: string): Promise<void> {
  const { bucket: Bucket } = place;
  const Prefix = isFolder(place) ? place.key : place.key.replace(/\.[^./]*$/, '');
  const mark = markOf(jobKey);
  const checksum = createHash('sha256').update(mark).digest('base64');
  const etag = createHash('md5').update(mark).digest('hex');
  let page: { KeyMarker?: string | undefined; UploadIdMarker?: string | undefined } | undefined = {};
  while (page) {
    const list: ListMultipartUploadsCommand = new ListMultipartUploadsCommand({ Bucket, Prefix, ...page });
    const { Uploads = [], IsTruncated, NextKeyMarker, NextUploadIdMarker } = await client.send(list);
    for (const upload of Uploads) if (await isMarked(upload)) await abort(upload);
    page = IsTruncated ? { KeyMarker: NextKeyMarker, UploadIdMarker: NextUploadIdMarker } : undefined;
  }

  async function isMarked({ Key, UploadId }: MultipartUpload): Promise<boolean> {
    const list = new ListPartsCommand({ Bucket, Key, UploadId, PartNumberMarker: String(markNumber - 1) });
    const { Parts: [part] = [] } = (await unlessGone(client.send(list))) ?? {};
    return part?.ChecksumSHA256 === checksum || part?.ETag?.replaceAll('"', '') === etag;
  }

  async function abort({ Key, UploadId }: MultipartUpload): Promise<void> {
    await unlessGone(client.send(new AbortMultipartUploadCommand({ Bucket, Key, UploadId })));
  }
}

/** Another attempt may end or finish an upload at the same time. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (answerOf(error).name === 'NoSuchUpload') return undefined;
    throw error;
  }
}
