import type { Command } from 'commander';
import { buildCommands } from '../../packages/cli/src/command-tree';
import { createOutput } from '../../packages/cli/src/output/output';

const nowhere = { write: () => true };
const program = buildCommands(createOutput({ stdout: nowhere, stderr: nowhere, env: {}, json: false }), () =>
  Promise.resolve(),
);

/** The first unknown word of `fileconv <words>`, or undefined. */
export function findUnknownWord(words: readonly string[]): string | undefined {
  let command: Command = program;
  const rest = [...words];
  for (let next = rest[0]; next !== undefined && command.commands.length > 0; next = rest[0]) {
    const known = command.commands.find((each) => each.name() === next);
    if (!known) break;
    command = known;
    rest.shift();
  }
  const isGroup = command.commands.length > 0 && command.registeredArguments.length === 0;
  const options = [...command.options, ...program.options].flatMap(({ long, short }) => [long, short]);
  const unknown = rest.find(
    (word) => word.startsWith('--') && word !== '--' && word !== '--help' && !options.includes(word),
  );
  if (unknown !== undefined) return unknown;
  return isGroup && rest[0]?.startsWith('-') === false ? rest[0] : undefined;
}

/** The commands of a group, such as `batch run`. */
export function commandNames(group: string): string[] {
  const commands = program.commands.find((each) => each.name() === group)?.commands ?? [];
  return commands.map((each) => `${group} ${each.name()}`);
}

/** Every `fileconv ...` of a page: in code blocks at the start of a line or after `$`, and in backticks. Cut at a pipe, redirection or comment. */
export function commandLinesOf(page: string): string[][] {
  const blocks = [...page.matchAll(/^ *(?:\$ )?(?:\w+=\S+ )*(?:npx )?fileconv (.*)$/gm)].map(([, line = '']) => line);
  const inline = [...page.matchAll(/`(?:\w+=\S+ )*(?:npx )?fileconv ([^`]+)`/g)].map(([, line = '']) => line);
  return [...blocks, ...inline].map((line) =>
    (line.split(/ [|#>] /)[0] ?? '')
      .replace(/["'][^"']*["']/g, 'QUOTED')
      .trim()
      .split(/\s+/),
  );
}
