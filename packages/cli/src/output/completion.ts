import type { Command } from 'commander';

/** Each asks `fileconv complete` with the words up to the cursor, and falls back to file names. */
export const completionScripts: Readonly<Record<string, string>> = {
  bash: `_fileconv() {
  mapfile -t COMPREPLY < <(fileconv complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _fileconv fileconv`,
  zsh: `#compdef fileconv
_fileconv() {
  local -a found
  found=("\${(@f)$(fileconv complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "$found" ]]; then compadd -- "\${found[@]}"; else _files; fi
}
compdef _fileconv fileconv`,
  fish: `complete -c fileconv -a '(fileconv complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'`,
};

export function completionsOf(program: Command, typed: readonly string[]): string[] {
  // bash makes a word of the sign in --option=value.
  const words = (typed.at(-1) === '=' ? [...typed, ''] : typed).filter((word) => word !== '=');
  const [last = ''] = words.slice(-1);
  let command = program;
  let before: string | undefined;
  let isNamed = true;
  let given = 0;
  for (const word of words.slice(0, -1)) {
    if (isNamed && word === 'help') continue;
    const inner = isNamed ? command.commands.find((each) => each.name() === word) : undefined;
    if (inner) command = inner;
    else if (!word.startsWith('-') && !takesValue(command, before)) {
      isNamed = false;
      given += 1;
    }
    before = word;
  }
  const begins = (names: readonly string[] = []) => names.filter((name) => name.startsWith(last));
  if (takesValue(command, before)) return begins(optionOf(command, before)?.argChoices);
  const help = command.createHelp();
  if (last.startsWith('-')) return begins(help.visibleOptions(command).flatMap(({ long }) => long ?? []));
  const { registeredArguments } = command;
  const argument = registeredArguments[given] ?? registeredArguments.at(-1);
  return begins([
    ...(isNamed ? help.visibleCommands(command).map((each) => each.name()) : []),
    ...(argument?.argChoices ?? []),
  ]);
}

function optionOf({ options }: Command, word: string | undefined) {
  return options.find(({ long, short }) => word !== undefined && [long, short].includes(word));
}

function takesValue(command: Command, word: string | undefined): boolean {
  const option = optionOf(command, word);
  return option !== undefined && (option.required || option.optional);
}
