import path from "node:path";
import { bundleOptions } from "./bundle.ts";
import { bundler } from "./bundler.ts";

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
  entries: readonly string[],
): Promise<ImportGraph> {
  const importers = new Map<string, Set<string>>();
  await bundler()
    .build({
      ...bundleOptions(project, [
        {
          name: "record-imports",
          setup(recording) {
            recording.onResolve({ filter: /^[./]/ }, async (args) => {
              if (args.pluginData === "asked" || args.kind === "entry-point") return undefined;
              const { importer, kind, resolveDir } = args;
              const found = await recording.resolve(args.path, {
                importer,
                kind,
                resolveDir,
                pluginData: "asked",
              });
              const known = importers.get(found.path) ?? new Set();
              importers.set(found.path, known.add(importer));
              return found.errors.length > 0 ? undefined : { path: found.path };
            });
          },
        },
      ]),
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
