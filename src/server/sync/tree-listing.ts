import type { Problem } from "../../model/manifest.ts";
import { listTree } from "../../sources/git/commits.ts";
import type { Repository } from "../../sources/git/repository.ts";
import { SPEC_FILE } from "../../sources/spec-file.ts";
import type { Listing } from "./source.ts";

type Found = Pick<Listing, "specs" | "problems">;

/** The spec files of a commit below some roots, and what there can't be read as one. */
export async function listSpecs(
  repository: Repository,
  commit: string,
  roots: string[],
): Promise<Found> {
  const tree = await listTree(repository, commit, roots, { submodules: true });
  const found: Found = { specs: new Map(), problems: [] };
  for (const [file, { oid, mode }] of tree) {
    if (mode === "submodule") found.problems.push(at(file, SUBMODULE));
    else if (isSpec(file)) found.specs.set(file, mode === "symlink" ? linkId(oid) : oid);
  }
  const empty = roots.filter((root) => ![...tree.keys()].some((file) => isBelow(root, file)));
  if (empty.length > 0)
    found.problems.push(...(await rootsInSubmodules(repository, commit, empty)));
  return found;
}

function isSpec(file: string): boolean {
  return SPEC_FILE.test(file) && !file.split("/").includes("node_modules");
}

function isBelow(root: string, file: string): boolean {
  return root === "." || file === root || file.startsWith(`${root}/`);
}

const LINK = "link:";

// What a link leads to may change where the link does not.
function linkId(oid: string): string {
  return LINK + oid;
}

/** True for the content of a file that is a link: what it means is not told by what it is. */
export function isLink(content: string): boolean {
  return content.startsWith(LINK);
}

const SUBMODULE =
  "is a submodule, whose files are another repository's; enable sync there, or move the specs here";

/** git lists nothing below a submodule, so a root inside one would look like an empty folder. */
async function rootsInSubmodules(
  repository: Repository,
  commit: string,
  roots: string[],
): Promise<Problem[]> {
  const folders = new Set(roots.flatMap(ancestors));
  const entries = await listTree(repository, commit, [...folders], { submodules: true });
  return [...folders].flatMap((folder) =>
    entries.get(folder)?.mode === "submodule" ? [at(folder, SUBMODULE)] : [],
  );
}

function ancestors(root: string): string[] {
  const parts = root.split("/");
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

function at(file: string, message: string): Problem {
  return { file, line: 1, column: 1, path: "", message };
}
