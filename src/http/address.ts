import { type Endpoint, endpoints } from '../contract/endpoints';
import { isOfCloud } from '../network/addresses';

/** Where a download comes from, and whether that is the service itself (`own`), which alone gets token and App ID. */
export interface DownloadTarget {
  readonly url: URL;
  readonly own: boolean;
}

export type ServiceAddress = ReturnType<typeof createServiceAddress>;

/** The service's base URL, which may carry a path prefix. */
export function createServiceAddress(baseUrl: string) {
  const base = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined;
  if (!base || !isHttp(base)) throw new TypeError('The base URL must be an http: or https: URL.');
  if (base.username !== '' || base.password !== '') {
    throw new TypeError('The base URL must not hold a user name or password.');
  }
  const prefix = base.pathname.replace(/\/+$/, '');
  const root = new URL(`${prefix}/`, base.origin);

  return {
    endpointUrl: (endpoint: Endpoint) => new URL(endpoint, root),
    /** Resolves a download link as the service wrote it; undefined if the link must not be followed. */
    resolveLink(link: string): DownloadTarget | undefined {
      if (!URL.canParse(link, root.href)) return undefined;
      const url = new URL(link, root);
      // A link that leaves TLS would send the file in the clear.
      if (!isHttp(url) || (base.protocol === 'https:' && url.protocol !== 'https:')) return undefined;
      // The endpoint itself, as account pages show it: the base URL may be a gateway that the service does not know.
      if (namesDownloadEndpoint(url)) return { url: new URL(endpoints.downloadUrlGet, root), own: true };
      const own = url.origin === base.origin;
      if (!own && isOfCloud(url.hostname)) return undefined;
      // A service behind a gateway does not know the gateway's path prefix.
      if (own && /^\/(?![/\\])/.test(link) && !url.pathname.startsWith(root.pathname)) {
        url.pathname = prefix + url.pathname;
      }
      return { url, own };
    },
  };
}

/** Exactly the endpoint's path: a storage host puts a file or a signature into the URL. */
function namesDownloadEndpoint({ pathname, search }: URL): boolean {
  return search === '' && /^(\/v\d+)?\/download\/url\/get$/.test(pathname);
}

function isHttp(url: URL): boolean {
  return url.protocol === 'https:' || url.protocol === 'http:';
}
