import path from "node:path";
import type { OnResolveResult, Plugin } from "esbuild";
import type { CommittedFiles } from "./project-files.ts";
import { FileFault } from "./text.ts";

/**
 * Finds what relative imports of a commit's files lead to in the tree of that commit, by the
 * bundler's own rules. Without it, the disk would answer.
 */
export function commitPlugin({ tree, holds, inTree, ofTree }: CommittedFiles): Plugin {
  return {
    name: "commit",
    setup(build) {
      build.onResolve({ filter: /^[./]/ }, async (args): Promise<OnResolveResult | undefined> => {
        const target = path.resolve(args.resolveDir, args.path);
        if (!holds(target) && !holds(args.importer)) return undefined;
        const slash = /(?:\/|\/\.{1,2})$/.test(args.path) ? "/" : "";
        try {
          const found = await locateImport(tree, inTree(target) + slash);
          if (found !== undefined) return { path: ofTree(found) };
        } catch (thrown) {
          if (thrown instanceof FileFault) return { errors: [{ text: thrown.message }] };
          throw thrown;
        }
        return { errors: [{ text: `Could not resolve ${JSON.stringify(args.path)}` }] };
      });
    },
  };
}

const EXTENSIONS = [".tsx", ".ts", ".jsx", ".js", ".json"];
/** Sources may be imported by the names that their outputs will have. */
const REWRITTEN: Readonly<Record<string, string[]>> = {
  ".js": [".ts", ".tsx"],
  ".jsx": [".ts", ".tsx"],
  ".mjs": [".mts"],
  ".cjs": [".cts"],
};

/** The file of a commit that its `tsconfig.json` gives an import which looks like a package. */
export async function locateAlias(
  { tree, tsconfig, ofTree }: CommittedFiles,
  name: string,
): Promise<string | undefined> {
  for (const target of tsconfig.alias(name)) {
    try {
      const found = await locateImport(tree, target);
      if (found !== undefined) return ofTree(found);
    } catch (thrown) {
      if (!(thrown instanceof FileFault)) throw thrown;
    }
  }
  return undefined;
}

/** The file of a tree that an import of `target` means: undefined where there is none. */
async function locateImport(
  tree: CommittedFiles["tree"],
  target: string,
): Promise<string | undefined> {
  const extension = path.extname(target);
  const stem = target.slice(0, target.length - extension.length);
  const candidates = [
    target,
    ...EXTENSIONS.map((ending) => target + ending),
    ...(REWRITTEN[extension] ?? []).map((ending) => stem + ending),
    ...EXTENSIONS.map((ending) => `${target}/index${ending}`),
  ];
  for (const candidate of target.endsWith("/")
    ? candidates.slice(-EXTENSIONS.length)
    : candidates) {
    try {
      const found = await tree.locate(candidate);
      if (found.kind === "file") return found.path;
    } catch (thrown) {
      if (!(thrown instanceof FileFault && thrown.isAbsence)) throw thrown;
    }
  }
  return undefined;
}
