/** Stops the server that global-setup started in this very process. */
export default async function stopSharedServer(): Promise<void> {
  await globalThis.testTemporalServer?.stop();
}
