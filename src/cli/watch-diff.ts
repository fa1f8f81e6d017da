import path from "node:path";
import { systemClock } from "../model/clock.ts";
import { PiWorkflowsError, toPiWorkflowsError } from "../model/errors.ts";
import type { Resolution } from "../runner/resolver.ts";
import { findRepository } from "../sources/git/repository.ts";
import { displayPath, globalDefinitionsFolder, SPECS_FOLDER } from "../sources/project.ts";
import { openWorkTree } from "../sources/working-tree/work-tree.ts";
import type { Cli } from "./invocation.ts";
import { endPrepared, loadSelected, planOf, prepareLoad, type LoadOptions } from "./plan-specs.ts";
import { createScreen } from "./screen.ts";
import { selectWorkTree, syncSetOf } from "./select-synced.ts";
import { masked, planText } from "./show-plan.ts";

type Options = LoadOptions & { showSecrets?: boolean };

/**
 * Shows the plan of the work tree as files are saved, until Ctrl-C: at once, and again for each
 * state that settles.
 */
export async function watchDiff(cli: Cli, options: Options): Promise<void> {
  const set = options.file === undefined ? await syncSetOf(cli) : undefined;
  const request = set ? options : { ...options, file: options.file ?? [SPECS_FOLDER] };
  const screen = createScreen(cli.output);
  const changes = new Signal();
  const tree = openWorkTree(
    {
      project: cli.project,
      roots: set?.roots ?? rootsOf(cli, request.file),
      globalFolder: globalDefinitionsFolder(),
      gitDir: (await findRepository(cli.project))?.gitDir,
      clock: systemClock,
      onHint: () => prepareLoad(cli),
    },
    () => changes.raise(),
  );
  cli.signal.addEventListener("abort", () => changes.raise());
  try {
    while (!cli.signal.aborted) {
      const resolution = await showOnce(cli, request, (text) => screen.show(text));
      if (resolution) tree.include(importedBy(resolution));
      await changes.next();
    }
  } finally {
    await tree.close();
    endPrepared();
  }
}

function rootsOf({ project }: Cli, paths: readonly string[] = []): string[] {
  return paths.map((given) => displayPath(project, path.resolve(given)));
}

/** Files that specs import, with the hash of what was loaded: they matter wherever they lie. */
function importedBy({ imports = {}, files }: Resolution): Map<string, string> {
  const names = new Set(Object.values(imports).flat());
  const imported = files.filter(({ file }) => names.has(file));
  return new Map(imported.map(({ file, sha256 }) => [file, sha256]));
}

async function showOnce(
  cli: Cli,
  options: Options,
  show: (text: string) => void,
): Promise<Resolution | undefined> {
  try {
    const selected = await selectWorkTree(cli, options);
    // They are no part of a plan, which should follow each save at once.
    const loaded = await loadSelected(cli, {
      ...selected,
      specs: { ...selected.specs, workflows: [] },
    });
    const plan = masked(
      await planOf(loaded, await cli.reader()),
      loaded,
      options.showSecrets === true,
    );
    if (cli.output.format === "json") cli.output.record(plan);
    else show((await planText(cli, plan)).trimEnd());
    return loaded.resolution;
  } catch (thrown) {
    if (cli.signal.aborted) return undefined;
    const error = toPiWorkflowsError(thrown);
    // What is wrong with the files now may be right with the next save.
    if (!(thrown instanceof PiWorkflowsError)) throw thrown;
    if (cli.output.format === "json") cli.output.record({ error: error.toJSON() });
    else show(`error[${error.code}]: ${error.message}\nhint: ${error.hint}`);
    return undefined;
  }
}

/** One flag that waits to be raised; raised often before it is looked at, it counts once. */
class Signal {
  #raised = false;
  #wake: (() => void) | undefined;

  raise(): void {
    this.#raised = true;
    this.#wake?.();
  }

  async next(): Promise<void> {
    if (!this.#raised) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#raised = false;
    this.#wake = undefined;
  }
}
