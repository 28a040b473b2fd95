import { holdsCredentials, withoutSecrets } from '../job/types';
import { cannotUse } from '../storage/errors';

/** An object; with an empty key or one that ends with `/`, a folder of objects. */
export interface ObjectPlace {
  readonly bucket: string;
  readonly key: string;
}

/** `s3://bucket/some/key.md`; characters reserved in URIs are encoded, as in `a%20b.md`. */
export function toPlace(uri: string): ObjectPlace {
  if (holdsCredentials(uri)) throw cannotUse(withoutSecrets(uri), 'it holds a user name or a password. Take them out');
  const [, bucket, key] = /^s3:\/\/([^/?#]+)\/([^?#]*)$/is.exec(uri) ?? [];
  if (bucket === undefined || key === undefined) {
    throw cannotUse(uri, 'an s3: URI is s3://BUCKET/KEY, with ? and # written as %3F and %23');
  }
  try {
    return { bucket, key: decodeURIComponent(key) };
  } catch {
    throw cannotUse(uri, 'a % in a key is written as %25');
  }
}

export function toObjectUri({ bucket, key }: ObjectPlace): string {
  return `s3://${bucket}/${key.split('/').map(encodeURIComponent).join('/')}`;
}

export function isFolder({ key }: ObjectPlace): boolean {
  return key === '' || key.endsWith('/');
}

export function keyNameOf({ key }: ObjectPlace): string {
  return key.slice(key.lastIndexOf('/') + 1);
}

export function keyFolderOf({ key }: ObjectPlace): string {
  return key.slice(0, key.lastIndexOf('/') + 1);
}
