import path from "node:path";
import type { Metafile, Plugin } from "esbuild";
import { bundleOptions } from "./bundle.ts";
import { bundler } from "./bundler.ts";
import { projectPlugin } from "./bundler-plugin.ts";
import { isOwnCode } from "./installed.ts";
import type { ProjectFiles } from "./project-files.ts";

/** Which local files import which. */
export type ImportGraph = {
  /** Those of `candidates` that import `file`, directly or not. */
  usersOf(file: string, candidates: readonly string[]): string[];
};

/**
 * Records imports between local files. It is asked for only after a build failed: a failed build
 * tells where the errors are, but not who imports those places.
 */
export async function recordImports(
  project: string,
  files: ProjectFiles,
  entries: readonly string[],
): Promise<ImportGraph> {
  const importers = new Map<string, Set<string>>();
  const options = bundleOptions(project, files, [projectPlugin(new Map(), files)]);
  await bundler()
    .build({
      ...options,
      plugins: [recordingPlugin(importers), ...(options.plugins ?? [])],
      packages: "external",
      entryPoints: [...entries],
      outdir: path.join(project, "never-written"),
    })
    .catch(() => undefined);
  return {
    usersOf(file, candidates) {
      const users = new Set<string>();
      const visit = (imported: string): void => {
        for (const importer of importers.get(imported) ?? []) {
          if (users.has(importer)) continue;
          users.add(importer);
          visit(importer);
        }
      };
      visit(file);
      return candidates.filter((candidate) => users.has(candidate));
    },
  };
}

/**
 * By entry (absolute), the files of the project that it imports, directly or not, as a finished
 * build found them. The product's own and installed packages' do not count.
 */
export function importsIn(
  { inputs }: Metafile,
  project: string,
  entries: readonly string[],
): Map<string, string[]> {
  const known = new Map<string, string[]>();
  const closure = (entry: string): string[] => {
    const seen = new Set<string>();
    const visit = (file: string): void => {
      for (const { path: imported, external } of inputs[file]?.imports ?? []) {
        if (external === true || seen.has(imported)) continue;
        seen.add(imported);
        visit(imported);
      }
    };
    visit(entry);
    seen.delete(entry);
    return [...seen].map((file) => path.resolve(project, file)).filter(isOfProject);
  };
  const isOfProject = (file: string): boolean =>
    !isOwnCode(file) && !file.split(path.sep).includes("node_modules");
  for (const entry of entries) known.set(entry, closure(path.relative(project, entry)));
  return known;
}

/** Notes by imported file who imports it. */
function recordingPlugin(importers: Map<string, Set<string>>): Plugin {
  return {
    name: "record-imports",
    setup(build) {
      build.onResolve({ filter: /^[./]/ }, async (args) => {
        if (args.pluginData === "asked" || args.kind === "entry-point") return undefined;
        const { importer, kind, resolveDir } = args;
        const asked = { importer, kind, resolveDir, pluginData: "asked" };
        const found = await build.resolve(args.path, asked);
        const known = importers.get(found.path) ?? new Set();
        importers.set(found.path, known.add(importer));
        return found.errors.length > 0 ? undefined : { path: found.path };
      });
    },
  };
}
