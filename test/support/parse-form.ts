/** Parses the fields and files of a form with Node's own parser, independent of the embedded service's. */
export function parseForm(body: Buffer, contentType: string): Promise<FormData> {
  const response = new Response(new Uint8Array(body), { headers: { 'content-type': contentType } });
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- discouraged in servers; tests read small bodies
  return response.formData();
}
