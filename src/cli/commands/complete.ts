import { candidatesFor, type Candidates } from "../completion.ts";
import { listAll } from "../find.ts";
import type { Cli } from "../invocation.ts";
import { printable } from "../../model/text.ts";
import { shortId } from "../runs/ids.ts";
import { GLOBAL_FLAGS } from "../program.ts";
import type { Action } from "../verb.ts";
import { VERBS } from "../verbs.ts";

/** Runs that are offered: the latest. */
const RUNS = 50;

type Lookup = Extract<Candidates, { kind: "lookup" }>;

export const run: Action<object> = async (cli, _options, ...words) => {
  const candidates = candidatesFor(VERBS, GLOBAL_FLAGS, words);
  const found = candidates.kind === "words" ? candidates.words : await lookUp(cli, candidates);
  const typed = words.at(-1) ?? "";
  for (const { word, about } of found) {
    // Spelled it would be another word, and with a line end it would be two.
    if (printable(word) !== word) continue;
    if (word.startsWith(typed) || word.startsWith(":")) {
      cli.output.line(`${word}\t${printable(about)}`);
    }
  }
};

async function lookUp(cli: Cli, lookup: Lookup): Promise<{ word: string; about: string }[]> {
  switch (lookup.what) {
    case "file":
    case "directory":
      return [{ word: `:${lookup.what}`, about: "" }];
    case "manager": {
      const managers = await (await cli.reader()).managers(cli.project);
      return managers.map(({ name }) => ({ word: name, about: "" }));
    }
    case "key": {
      if (lookup.manager === undefined) return [];
      const query = { project: cli.project, manager: lookup.manager };
      const items = await listAll(await cli.reader(), query);
      return items.map(({ metadata }) => ({ word: metadata.key, about: "" }));
    }
    case "workflow": {
      const names = await knownWorkflows(cli);
      return names.map((word) => ({ word, about: "" }));
    }
    case "run": {
      const { items } = await (await cli.reader()).runs({ project: cli.project, limit: RUNS });
      return items.map(({ runId, workflow, state }) => ({
        word: shortId(runId),
        about: `${workflow}, ${state}`,
      }));
    }
    case "effect":
      return lookUpEffects(cli, lookup);
  }
}

/** Those whose files are there: what they hold is not looked at. */
async function knownWorkflows({ project }: Cli): Promise<string[]> {
  const [{ findDefinitions, WORKFLOWS }, { globalDefinitionsFolder }] = await Promise.all([
    import("../../sources/definition-files.ts"),
    import("../../sources/project.ts"),
  ]);
  const { byName } = findDefinitions(WORKFLOWS, project, globalDefinitionsFolder());
  return [...byName.keys()].sort();
}

async function lookUpEffects(cli: Cli, lookup: Lookup): Promise<{ word: string; about: string }[]> {
  const { manager, key } = lookup;
  if (manager === undefined || key === undefined) return [];
  const reader = await cli.reader();
  const ref = { project: cli.project, resourceManager: manager, key };
  const stored = await reader.get(ref);
  if (stored === undefined) return [];
  const effects = await reader.effects({ uid: stored.resource.metadata.uid, open: true });
  return effects.map((effect) => ({ word: effect.key, about: `${effect.kind}, ${effect.state}` }));
}
