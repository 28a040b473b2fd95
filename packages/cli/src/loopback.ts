/** Whether a host name, as in a URL, means this machine. */
export function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127(\.\d+){3}$/.test(hostname);
}

/** Whether a `host:port` does, however whoever connects to it may read it. */
export function isLoopbackAddress(address: string): boolean {
  return isLoopback(address.replace(/:\d{1,5}$/, ''));
}
