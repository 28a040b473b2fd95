import js from '@eslint/js';
import tseslint from 'typescript-eslint';
import { builtinModules } from 'node:module';

/** What each folder of src may import from its neighbours; the arrows of the house point one way. */
const arrows = {
  shared: [],
  workflows: ['shared'],
  api: ['shared'],
  storage: ['shared'],
  batch: ['storage', 'api/error-codes', 'shared'],
  activities: ['api', 'storage', 'batch', 'history', 'shared'],
  metrics: ['shared'],
  logs: ['shared'],
  tracing: ['shared'],
  callbacks: ['shared'],
  history: ['shared'],
  client: ['api/error-codes', 'batch', 'encryption', 'history', 'shared'],
  service: ['api/contract', 'api/error-codes', 'shared'],
  // Raw HTTP instead of our own client, whose tolerance would hide what a service does wrong.
  conformance: ['api/contract', 'api/error-codes', 'shared'],
  'temporal-server': ['shared'],
  config: ['shared'],
  encryption: ['shared'],
};
const folders = [...Object.keys(arrows), 'cli', 'plugin', 'worker', 'index'];

/** Refuses every relative import of a sibling folder that the arrow does not allow. */
function boundary(folder, allowed) {
  const refused = folders.filter((name) => name !== folder && !allowed.includes(name));
  const patterns = refused.map((name) => {
    const exceptions = allowed
      .filter((entry) => entry.startsWith(`${name}/`))
      .map((entry) => entry.slice(name.length + 1));
    const tail = exceptions.length ? `/(?!(${exceptions.join('|')})(\\.js)?$)` : '(/|\\.js$|$)';
    return { regex: `^(\\.\\./)+${name}${tail}`, message: `src/${folder} must not depend on src/${name}.` };
  });
  return patterns;
}

const noNodeInWorkflows = [
  {
    regex: `^(node:.*|${builtinModules.filter((name) => !name.startsWith('_')).join('|')})$`,
    message: 'Workflow code runs in a sandbox without Node.',
  },
  {
    regex: '^(?!@temporalio/(workflow|common|common/lib/time)$)[^.].*',
    message: 'Workflow code imports only @temporalio/workflow, @temporalio/common and shared types.',
    allowTypeImports: true,
  },
];

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'coverage/', '.fileconv/', 'converted/'] },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: './tsconfig.check.json', tsconfigRootDir: import.meta.dirname } },
    rules: {
      '@typescript-eslint/consistent-type-imports': 'error',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      'no-restricted-properties': [
        'error',
        { object: 'process', property: 'env', message: 'Only entry points (cli, worker) read the environment.' },
      ],
    },
  },
  ...Object.entries(arrows).map(([folder, allowed]) => ({
    files: [`src/${folder}/**/*.ts`],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            ...boundary(folder, allowed),
            ...(['workflows', 'shared'].includes(folder) ? noNodeInWorkflows : []),
          ],
        },
      ],
    },
  })),
  {
    files: ['src/cli/main.ts', 'src/worker.ts', 'test/**/*.ts', 'bench/**/*.ts', 'examples/**/*.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
  { files: ['**/*.mjs'], languageOptions: { globals: { console: 'readonly', process: 'readonly' } } },
);
