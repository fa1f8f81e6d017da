import { PiWorkflowsError } from "../../model/errors.ts";
import { LIMITS } from "../../model/limits.ts";
import { FileFault, LINK_LOOP } from "../text.ts";
import { openObjects, type GitObject, type ObjectReader } from "./objects.ts";
import type { Repository } from "./repository.ts";

/** What lies at a path of a commit, with links followed. */
export type TreeNode = {
  kind: "file" | "folder";
  /** Where it really lies: from the top of the tree, with forward slashes. */
  path: string;
  oid: string;
};

/** The tree of one commit. Folders are read as they are asked for, each once. */
export type CommitTree = {
  /**
   * Follows a path from the top of the tree, and links that stay within it.
   * @throws FileFault where it leads nowhere, around in a circle, out of the tree or into a submodule
   */
  locate(path: string): Promise<TreeNode>;
  /** The names in a folder, sorted; none where there is no such folder. */
  names(folder: string): Promise<string[]>;
  /** @throws FileFault as `locate`, and where the file is too large or is not in this repository */
  read(path: string): Promise<Buffer>;
  close(): Promise<void>;
};

/** As many as the file systems that people know follow. */
const MAX_LINKS = 40;

type Entry = { kind: TreeNode["kind"] | "link" | "submodule"; oid: string };
type Folder = ReadonlyMap<string, Entry>;

/**
 * Opens the tree of `commit` through a git process of its own, which ends with `close`.
 * @throws PiWorkflowsError GIT_FAILED where the repository has no such commit
 */
export async function openCommitTree(
  repository: Pick<Repository, "gitDir">,
  commit: string,
): Promise<CommitTree> {
  const objects = openObjects(repository, LIMITS.manifestFile);
  const root = await objects.read(`${commit}^{tree}`);
  if (root?.type !== "tree") {
    await objects.close();
    throw new PiWorkflowsError("GIT_FAILED", `${repository.gitDir} has no commit ${commit}`);
  }
  try {
    return commitTree(objects, root);
  } catch (cause) {
    await objects.close();
    throw new PiWorkflowsError("GIT_FAILED", `${repository.gitDir}: ${(cause as Error).message}`, {
      cause,
    });
  }
}

function commitTree(objects: ObjectReader, root: GitObject): CommitTree {
  const folders = new Map<string, Promise<Folder>>([[root.oid, Promise.resolve(parse(root))]]);
  const folderOf = (oid: string): Promise<Folder> => {
    const known = folders.get(oid) ?? objects.read(oid).then((found) => parse(present(found)));
    folders.set(oid, known);
    return known;
  };
  const content = async (oid: string): Promise<Buffer> => {
    const { size, content: bytes } = present(await objects.read(oid));
    if (bytes.length === size) return bytes;
    throw new FileFault(`the file has ${size} bytes; at most ${LIMITS.manifestFile} are allowed`);
  };
  const locate = (path: string) => walk(path, { rootOid: root.oid, folderOf, content });
  return {
    locate,
    async names(folder) {
      try {
        const found = await locate(folder);
        return found.kind === "folder" ? [...(await folderOf(found.oid)).keys()].sort() : [];
      } catch (thrown) {
        if (thrown instanceof FileFault && thrown.isAbsence) return [];
        throw thrown;
      }
    },
    async read(path) {
      const found = await locate(path);
      if (found.kind === "folder") throw new FileFault("this is a folder, not a file");
      return content(found.oid);
    },
    close: () => objects.close(),
  };
}

type Walking = {
  rootOid: string;
  folderOf: (oid: string) => Promise<Folder>;
  content: (oid: string) => Promise<Buffer>;
};

async function walk(path: string, { rootOid, folderOf, content }: Walking): Promise<TreeNode> {
  // The folders above the next step, innermost last.
  const above: { name: string; oid: string }[] = [{ name: "", oid: rootOid }];
  const steps = path.split("/");
  let leadingTo = path;
  const pathTo = (name: string) => [...above.slice(1).map((folder) => folder.name), name].join("/");
  for (let links = 0, step = steps.shift(); step !== undefined; step = steps.shift()) {
    if (step === "" || step === ".") continue;
    if (step === "..") {
      if (above.length === 1) throw leadsOut(leadingTo);
      above.pop();
      continue;
    }
    const entry = (await folderOf((above.at(-1) as { oid: string }).oid)).get(step);
    if (entry === undefined) throw absent();
    if (entry.kind === "submodule") throw inSubmodule(pathTo(step));
    if (entry.kind === "link") {
      links += 1;
      if (links > MAX_LINKS) throw new FileFault(LINK_LOOP);
      const target = (await content(entry.oid)).toString("utf8");
      if (target.startsWith("/")) throw leadsOut(target);
      steps.unshift(...target.split("/"));
      leadingTo = target;
    } else if (entry.kind === "folder") above.push({ name: step, oid: entry.oid });
    else if (steps.length > 0) throw absent();
    else return { kind: "file", path: pathTo(step), oid: entry.oid };
  }
  const { oid } = above.at(-1) as { oid: string };
  return { kind: "folder", path: pathTo("").replace(/\/$/, ""), oid };
}

function absent(): FileFault {
  return new FileFault("the file does not exist", { isAbsence: true });
}

function leadsOut(target: string): FileFault {
  return new FileFault(`the symbolic link leads out of the commit, to ${target}`);
}

function inSubmodule(path: string): FileFault {
  return new FileFault(
    `it lies in the submodule ${path}, whose files are another repository's; move it out of there`,
  );
}

function present(object: GitObject | undefined): GitObject {
  if (object !== undefined) return object;
  throw new FileFault(
    "its content is not in this clone; fetch it, for instance with `git checkout`",
  );
}

function damaged(oid: string): FileFault {
  return new FileFault(`the folder ${oid} is damaged in this repository; see \`git fsck\``);
}

const KINDS: Readonly<Record<string, Entry["kind"]>> = {
  "40000": "folder",
  "120000": "link",
  "160000": "submodule",
};

/** Parses a tree object: `MODE NAME\0` and the raw object id, again and again. */
function parse({ oid: own, content }: GitObject): Folder {
  const idLength = own.length / 2;
  const folder = new Map<string, Entry>();
  for (let from = 0; from < content.length;) {
    const space = content.indexOf(0x20, from);
    const end = space < 0 ? -1 : content.indexOf(0, space);
    // Read on, it would begin again somewhere before.
    if (end < 0 || end + 1 + idLength > content.length) throw damaged(own);
    const mode = content.toString("latin1", from, space);
    const name = content.toString("utf8", space + 1, end);
    const oid = content.toString("hex", end + 1, end + 1 + idLength);
    folder.set(name, { kind: KINDS[mode] ?? "file", oid });
    from = end + 1 + idLength;
  }
  return folder;
}
