// npm run json-schemas: writes docs/embedding/schemas.json, what programs in other languages exchange with workflows and the Nexus service, from
// the types of src/job, src/batch/model and src/nexus. With --check it writes nothing, and fails when the file is not up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { format } from 'prettier';
import ts from 'typescript';

const root = path.resolve(import.meta.dirname, '..');
const file = path.join(root, 'docs/embedding/schemas.json');

const described = {
  'job/types.ts': ['ConversionJobInput', 'ConversionJobResult', 'ConversionJobState', 'ConversionFailureDetails'],
  'batch/model/types.ts': ['ConversionBatchInput', 'BatchItem'],
  'batch/model/state.ts': ['ConversionBatchResult', 'BatchState', 'BatchItemResult'],
  'nexus/index.ts': [
    'ConvertInput',
    'ConvertBatchInput',
    'StateInput',
    'ConversionStateOutput',
    'AppReadyInput',
    'AppReadyOutput',
  ],
};
/** What is sent to us may hold nothing else; results may grow. */
const isStrict = (name) => name.endsWith('Input') || name === 'ConversionPolicies';

const { config } = ts.readConfigFile(path.join(root, 'tsconfig.check.json'), ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root);
const sources = Object.keys(described).map((name) => path.join(root, 'src', name));
const program = ts.createProgram(sources, options);
const checker = program.getTypeChecker();

const definitions = {};
for (const [name, types] of Object.entries(described)) {
  const module = checker.getSymbolAtLocation(program.getSourceFile(path.join(root, 'src', name)));
  const exported = checker.getExportsOfModule(module);
  for (const type of types) define(exported.find((symbol) => symbol.name === type));
}
const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'What workflows and the Nexus service of temporal-file-conversion take and give',
  $defs: Object.fromEntries(Object.entries(definitions).sort(([a], [b]) => (a < b ? -1 : 1))),
};
const text = await format(JSON.stringify(schema), { parser: 'json', printWidth: 120 });

if (!process.argv.includes('--check')) writeFileSync(file, text);
else if (readFileSync(file, 'utf8') !== text) {
  console.error('Not as the types say: docs/embedding/schemas.json; run: npm run json-schemas');
  process.exitCode = 1;
}

/** Describes a type by its name, once, and returns a reference to it. */
function define(symbol) {
  const { name } = symbol;
  if (!(name in definitions)) {
    definitions[name] = {};
    const type = checker.getDeclaredTypeOfSymbol(symbol);
    const alias = symbol.declarations?.find(ts.isTypeAliasDeclaration);
    definitions[name] = {
      ...documentation(symbol),
      ...(alias ? ofNode(alias.type, name) : ofType(type, name)),
    };
  }
  return { $ref: `#/$defs/${name}` };
}

/** By how the type is written, where that says more than what it comes to: names of other types. */
function ofNode(node, name) {
  // `readonly` of an array.
  if (ts.isTypeOperatorNode(node)) return ofNode(node.type, name);
  if (ts.isParenthesizedTypeNode(node)) return ofNode(node.type, name);
  if (ts.isUnionTypeNode(node) && !node.types.every(ts.isLiteralTypeNode)) {
    return { anyOf: node.types.map((each) => ofNode(each)) };
  }
  if (ts.isArrayTypeNode(node)) return { type: 'array', items: ofNode(node.elementType) };
  if (ts.isTypeReferenceNode(node)) {
    const [, value] = node.typeArguments ?? [];
    if (node.typeName.getText() === 'Record') return { type: 'object', additionalProperties: ofNode(value) };
    const symbol = checker.getSymbolAtLocation(node.typeName);
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    if (node.typeArguments === undefined && isOurs(target)) return define(target);
  }
  return ofType(checker.getTypeFromTypeNode(node), name);
}

/** By what the type comes to. */
function ofType(type, name) {
  if (type.isUnion()) return ofUnion(type.types.filter((each) => !(each.flags & ts.TypeFlags.Undefined)));
  if (type.isLiteral()) return { const: type.value };
  if (type.flags & ts.TypeFlags.BooleanLiteral) return { const: checker.typeToString(type) === 'true' };
  for (const [flag, keyword] of [
    [ts.TypeFlags.String, 'string'],
    [ts.TypeFlags.Number, 'number'],
    [ts.TypeFlags.Boolean, 'boolean'],
  ]) {
    if (type.flags & flag) return { type: keyword };
  }
  if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection)))
    throw new Error(`no JSON Schema for ${checker.typeToString(type)}`);
  return ofObject(type, name);
}

function ofUnion(types) {
  const literals = types.filter((type) => type.isStringLiteral()).map(({ value }) => value);
  if (literals.length === types.length && types.length > 1) return { enum: literals };
  const values = types.map((type) => checker.typeToString(type));
  if (values.includes('true') && values.includes('false')) return { type: 'boolean' };
  const each = types.map((type) => ofType(type));
  return each.length === 1 ? each[0] : { anyOf: each };
}

function ofObject(type, name) {
  const properties = checker.getPropertiesOfType(type);
  const required = properties
    .filter(({ flags }) => !(flags & ts.SymbolFlags.Optional))
    .map((property) => property.name);
  return {
    type: 'object',
    properties: Object.fromEntries(properties.map((property) => [property.name, ofProperty(property)])),
    ...(required.length > 0 && { required }),
    ...(name !== undefined && isStrict(name) && { additionalProperties: false }),
  };
}

function ofProperty(property) {
  const [declaration, ...others] = property.declarations ?? [];
  // More than one: the parts of an intersection say together what the property is.
  const node = others.length === 0 ? declaration?.type : undefined;
  return { ...documentation(property), ...(node ? ofNode(node) : ofType(checker.getTypeOfSymbol(property))) };
}

function documentation(symbol) {
  const description = ts.displayPartsToString(symbol.getDocumentationComment(checker)).replaceAll(/\s*\n\s*/g, ' ');
  return description === '' ? {} : { description };
}

function isOurs(symbol) {
  return symbol.declarations?.some((each) => each.getSourceFile().fileName.startsWith(path.join(root, 'src'))) ?? false;
}
