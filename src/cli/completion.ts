import type { Completion, Flag, Verb } from "./verb.ts";

/** What may stand at the cursor. */
export type Candidates =
  | { kind: "words"; words: { word: string; about: string }[] }
  | { kind: "lookup"; what: Completion; manager?: string; key?: string };

type Position = {
  verb: Verb;
  operands: string[];
  /** The flag before the cursor that takes a value. */
  flag: Flag | undefined;
};

/**
 * What may follow `words` (all after the program's name, the last one being typed), by the table of
 * verbs: one answer for every shell.
 */
export function candidatesFor(
  verbs: readonly Verb[],
  globals: readonly Flag[],
  words: readonly string[],
): Candidates {
  const root: Verb = { name: "", summary: "", verbs: [...verbs] };
  const typed = words.at(-1) ?? "";
  const position = locate(root, globals, words.slice(0, -1));
  const { verb, flag } = position;
  if (flag) return valueOf(flag);
  if (typed.startsWith("-")) {
    const flags = [...(verb.flags ?? []), ...globals, HELP].filter((flag) => !flag.hidden);
    return {
      kind: "words",
      words: flags.map((flag) => ({ word: longName(flag), about: flag.description })),
    };
  }
  if (verb.verbs) {
    const shown = verb.verbs.filter((child) => !child.hidden);
    return {
      kind: "words",
      words: shown.map(({ name, summary }) => ({ word: name, about: summary })),
    };
  }
  return operandOf(position);
}

const HELP: Flag = { flags: "-h, --help", description: "print this help" };

function locate(root: Verb, globals: readonly Flag[], before: readonly string[]): Position {
  const position: Position = { verb: root, operands: [], flag: undefined };
  for (const word of before) {
    if (position.flag) {
      // A flag for many takes all words up to the next flag.
      if (!takesMany(position.flag) || word.startsWith("-")) position.flag = undefined;
      if (!word.startsWith("-")) continue;
    }
    if (word.startsWith("-")) {
      const known = [...(position.verb.flags ?? []), ...globals];
      const flag = known.find(({ flags }) => namesOf(flags).includes(word));
      position.flag = flag && /[<[]/.test(flag.flags) ? flag : undefined;
      continue;
    }
    const child = position.verb.verbs?.find(({ name }) => name === word);
    if (child) position.verb = child;
    else position.operands.push(word);
  }
  return position;
}

function valueOf(flag: Flag): Candidates {
  if (flag.complete) return { kind: "lookup", what: flag.complete };
  return { kind: "words", words: (flag.choices ?? []).map((word) => ({ word, about: "" })) };
}

function operandOf({ verb, operands }: Position): Candidates {
  const argument = verb.arguments?.[operands.length];
  if (argument?.complete === undefined) {
    const words = (argument?.choices ?? []).map((word) => ({ word, about: "" }));
    return { kind: "words", words };
  }
  const [manager, key] = operands;
  return {
    kind: "lookup",
    what: argument.complete,
    ...(manager === undefined ? {} : { manager }),
    ...(key === undefined ? {} : { key }),
  };
}

function namesOf(flags: string): string[] {
  return flags.split(/[ ,]+/).filter((name) => name.startsWith("-"));
}

function longName({ flags }: Flag): string {
  return namesOf(flags).at(-1) as string;
}

function takesMany({ flags }: Flag): boolean {
  return flags.includes("...");
}

/** The script that a shell evaluates: it asks `__complete` for candidates. */
export const SCRIPTS: Readonly<Record<string, string>> = {
  bash: `# pi-workflows completion for bash: eval "$(pi-workflows completion bash)"
_pi_workflows() {
  local current="\${COMP_WORDS[COMP_CWORD]}" value about
  COMPREPLY=()
  while IFS=$'\\t' read -r value about; do
    case "$value" in
      :file) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$current")) ;;
      :directory) compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -d -- "$current")) ;;
      "$current"*) COMPREPLY+=("$(printf '%q' "$value")") ;;
    esac
  done < <(pi-workflows __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _pi_workflows pi-workflows
`,
  zsh: `#compdef pi-workflows
# pi-workflows completion for zsh: eval "$(pi-workflows completion zsh)"
_pi_workflows() {
  local -a values
  local line value
  for line in "\${(@f)$(pi-workflows __complete -- "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}"; do
    value="\${line%%$'\\t'*}"
    case "$value" in
      '') ;;
      :file) _files ;;
      :directory) _files -/ ;;
      *) values+=("\${value//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  (( \${#values} )) && _describe 'pi-workflows' values
}
compdef _pi_workflows pi-workflows
`,
  fish: `# pi-workflows completion for fish: pi-workflows completion fish | source
function __pi_workflows_complete
  set -l current (commandline -ct)
  test (count $current) -eq 0; and set current ''
  set -l words (commandline -opc)
  for line in (pi-workflows __complete -- $words[2..-1] $current 2>/dev/null)
    switch $line
      case ':file*'
        __fish_complete_path $current
      case ':directory*'
        __fish_complete_directories $current
      case '*'
        echo $line
    end
  end
end
complete -c pi-workflows -f -a '(__pi_workflows_complete)'
`,
};
