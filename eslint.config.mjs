import js from '@eslint/js';
import tseslint from 'typescript-eslint';
import { builtinModules } from 'node:module';

/** What each folder of the plugin's src may import from its neighbours; the arrows of the house point one way. */
const arrows = {
  contract: [],
  network: [],
  protection: [],
  messages: [],
  job: ['messages'],
  workflows: ['batch/model', 'job', 'messages'],
  notices: ['network', 'batch/model', 'job', 'messages'],
  http: ['contract', 'network', 'storage', 'job', 'messages'],
  storage: ['network', 'job', 'messages'],
  s3: ['network', 'storage', 'job'],
  batch: ['storage', 'contract', 'job', 'messages'],
  // What workflows know of batches, too.
  'batch/model': ['job', 'messages'],
  checks: ['http', 'network', 'protection', 'storage', 'job', 'messages'],
  recall: ['batch', 'history', 'storage', 'job', 'messages'],
  activities: [
    ...['checks', 'http', 'contract', 'client', 'notices', 'storage', 'batch', 'encryption'],
    ...['history', 'protection', 'recall', 'job', 'messages'],
  ],
  callbacks: ['storage', 'job', 'messages'],
  history: ['job'],
  client: ['contract', 'batch', 'encryption', 'history', 'recall', 'storage', 'job', 'messages'],
  encryption: ['job'],
  testing: ['storage'],
  nexus: ['client', 'history', 'batch/model', 'job'],
};
const folders = [
  ...Object.keys(arrows).filter((name) => !name.includes('/')),
  'plugin',
  'plugin-options',
  'worker',
  'index',
];

/** The neighbours that a folder must not import; of one of which it may import a part, all but that. */
function refusedBy(folder, allowed) {
  const own = [folder, ...allowed];
  const partOf = (name) => (allowed.includes(`${name}/model`) ? `${name}(?!/model/)` : name);
  return folders.filter((name) => !own.includes(name)).map(partOf);
}

/** The folders of the service's src; each may import those below it. */
const serviceFolders = ['http', 'callbacks', 'faults', 'tasks', 'accounts', 'engines', 'files', 'shared'];

/**
 * Refuses every relative import of a sibling folder that the arrow does not allow. From a folder within this one, which may have
 * neighbours of the same name, the sibling is at least two levels up.
 */
function boundary(folder, refused, { leastUp = 1 } = {}) {
  return refused.map((name) => ({
    regex: `^(\\.\\./){${leastUp},}${name}(/|\\.js$|$)`,
    message: `src/${folder} must not depend on src/${name}.`,
  }));
}

/**
 * What is loaded when it is first needed: it is large, or may be missing. By `require`: `import()` takes the name of the built file,
 * which tests of the sources lack, and Jest refuses it in what it has not transformed.
 */
const loadedLate = [
  '^(prom-client|standardwebhooks|undici|libsql|sharp|@hyzyla/pdfium)$',
  '^@temporalio/worker$',
  '^temporal-file-conversion/s3$',
  '^\\./(client|nexus/handlers|plan-batch|until-usable|write-report)$',
];

/** What each package may import of the others: nothing that is not named here, and nothing by a path. */
const packageArrows = {
  conformance: 'temporal-file-conversion/(contract|messages|network)$',
  service: 'temporal-file-conversion/(contract|messages|network|storage)$',
  cli: 'temporal-file-conversion(/(batch|callbacks|client|encryption|contract|http|job|messages|network|s3|storage|worker))?$|temporal-file-conversion-(conformance|service(/(administration|engines|settings))?)$',
};

function packageBoundary(name, allowed) {
  return [
    {
      regex: `^(?!${allowed})(temporal-file-conversion|fileconv)`,
      message: `packages/${name} must not depend on this.`,
    },
    { regex: '^(\\.\\./)+(src|packages|dist)/', message: 'Packages import each other by name.' },
  ];
}

/** Parts of the command line that know nothing of its commands. */
const ownParts = ['config', 'dev-server'];

/** Folders whose code workflows run. */
const withoutNode = ['workflows', 'batch/model', 'job', 'messages'];
const noNodeInWorkflows = [
  {
    regex: `^(node:.*|${builtinModules.filter((name) => !name.startsWith('_')).join('|')})$`,
    message: 'Workflow code runs in a sandbox without Node.',
  },
  {
    regex: '^(?!(@temporalio/(workflow|common))$)[^.].*',
    message: 'Workflow code imports only @temporalio/workflow, @temporalio/common and folders without Node.',
    allowTypeImports: true,
  },
];

export default tseslint.config(
  { ignores: ['**/dist/', 'node_modules/', 'coverage/', '.fileconv/', 'converted/', 'examples/agent/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.check.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-require-imports': ['error', { allow: loadedLate }],
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only entry points (cli, worker) read the environment.' },
      ],
    },
  },
  // Proxies are the environment's, whoever opens a connection.
  { files: ['src/network/proxy.ts'], rules: { 'no-restricted-properties': 'off' } },
  ...Object.entries(arrows).flatMap(([folder, allowed]) =>
    [
      { files: [`src/${folder}/*.ts`], leastUp: folder.split('/').length },
      { files: [`src/${folder}/*/**/*.ts`], leastUp: 2 },
    ].map(({ files, leastUp }) => ({
      files,
      rules: {
        '@typescript-eslint/no-restricted-imports': [
          'error',
          {
            patterns: [
              ...boundary(folder, refusedBy(folder, allowed), { leastUp }),
              ...(folder.includes('/')
                ? [{ regex: '^\\.\\./[^.]', message: `src/${folder} must not depend on its folder.` }]
                : []),
              ...(withoutNode.includes(folder) ? noNodeInWorkflows : []),
            ],
          },
        ],
      },
    })),
  ),
  ...Object.entries(packageArrows).map(([name, allowed]) => ({
    files: [`packages/${name}/src/**/*.ts`],
    rules: {
      '@typescript-eslint/no-restricted-imports': ['error', { patterns: packageBoundary(name, allowed) }],
    },
  })),
  ...serviceFolders.map((folder, index) => ({
    files: [`packages/service/src/${folder}/**/*.ts`],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            ...packageBoundary('service', packageArrows.service),
            ...boundary(folder, [...serviceFolders.slice(0, index), 'service', 'administration', 'index']),
          ],
        },
      ],
    },
  })),
  ...ownParts.map((part) => ({
    files: [`packages/cli/src/${part}/**/*.ts`],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        { patterns: [{ regex: '^\\.\\./', message: `${part} must not depend on the rest of the command line.` }] },
      ],
    },
  })),
  {
    files: ['src/**/*.ts'],
    ignores: Object.keys(arrows).map((folder) => `src/${folder}/**`),
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              regex: '^(\\.\\./|fileconv|temporal-file-conversion-)',
              message: 'The plugin must not depend on packages/.',
            },
          ],
        },
      ],
    },
  },
  {
    files: ['packages/cli/src/main.ts', 'src/worker.ts', '**/test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  {
    files: ['**/test/**/*.ts'],
    rules: { '@typescript-eslint/dot-notation': ['error', { allowPrivateClassPropertyAccess: true }] },
  },
  {
    files: ['**/*.mjs'],
    languageOptions: { globals: { AbortController: 'readonly', console: 'readonly', process: 'readonly' } },
  },
  {
    files: ['packages/cli/bin/*.js'],
    languageOptions: { sourceType: 'commonjs', globals: { require: 'readonly' } },
  },
);
