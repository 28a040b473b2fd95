import {
  GetObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { createS3Files } from '../../src/s3';
import { fileStoreContract, type FileStoreUnderTest } from '../../src/testing';
import { s3ServerOfAllTests } from '../support/s3-server';

/** The store contract and the specifics of S3, on a third-party server. */

const server = s3ServerOfAllTests();

async function objects(): Promise<FileStoreUnderTest> {
  const { client } = server;
  const Bucket = await server.newBucket();
  const uriOf = (name: string) => `s3://${Bucket}/in/${name.split('/').map(encodeURIComponent).join('/')}`;
  return {
    store: createS3Files({ client }),
    uriOf,
    async put(name, content) {
      const object = { Bucket, Key: `in/${name}`, Body: content, ContentLength: content.length };
      await client.send(new PutObjectCommand(object));
    },
    async contents() {
      const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket }));
      const read = async ({ Key = '' }) => {
        const { Body } = await client.send(new GetObjectCommand({ Bucket, Key }));
        return [Key.slice('in/'.length), await Body?.transformToString()] as [string, string];
      };
      const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket }));
      const unfinished = Uploads.map(({ Key = '' }) => [`${Key} is being uploaded`, ''] as [string, string]);
      return Object.fromEntries([...(await Promise.all(Contents.map(read))), ...unfinished]);
    },
  };
}

it.each(fileStoreContract)('$title', async ({ check }) => await check(await objects()));
