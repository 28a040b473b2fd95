import { Client, Connection } from '@temporalio/client';

/** The address of the Temporal server of this jest run. */
export function testTemporalAddress(): string {
  const address = process.env['TEST_TEMPORAL_ADDRESS'];
  if (!address) throw new Error('TEST_TEMPORAL_ADDRESS is not set: run this test with jest and its globalSetup.');
  return address;
}

const testConnection = async (): Promise<Connection> => await Connection.connect({ address: testTemporalAddress() });

/** A client of this run's server. The test closes `client.connection`. */
export const testClient = async (): Promise<Client> => new Client({ connection: await testConnection() });
