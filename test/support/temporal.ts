import { Client, Connection } from '@temporalio/client';

/** Where the Temporal server of this jest run is. */
export function testTemporalAddress(): string {
  const address = process.env['TEST_TEMPORAL_ADDRESS'];
  if (!address) throw new Error('TEST_TEMPORAL_ADDRESS is not set: run this test with jest and its globalSetup.');
  return address;
}

/** A client connection to the server of this run. The test closes it. */
const testConnection = async (): Promise<Connection> => await Connection.connect({ address: testTemporalAddress() });

/** A client to the server of this run. The test closes `client.connection`. */
export const testClient = async (): Promise<Client> => new Client({ connection: await testConnection() });
