import path from "node:path";
import { pathToFileURL } from "node:url";
import { byteLength, LIMITS } from "../model/limits.ts";
import type { Problem, ResolvedManager } from "../model/manifest.ts";
import { bundleOptions, buildProblems } from "./bundle.ts";
import { bundler } from "./bundler.ts";
import { type BundleInputs, installationPlugin, projectPlugin } from "./bundler-plugin.ts";
import type { DefinitionFile } from "./definition-files.ts";
import { digestOf } from "./digest.ts";
import { displayPath } from "./project.ts";
import type { ProjectFiles } from "./project-files.ts";
import { problemOf } from "./text.ts";

/** A definition as runners execute it. */
export type DefinitionBundle = Pick<ResolvedManager, "digest" | "inputs"> & {
  /** Self-contained but for packages, with its source map inline. */
  bundle: string;
  /** The source map's JSON text. */
  map: string;
};

/** Bundles one definition with what it imports locally. */
export async function bundleDefinition(
  definition: DefinitionFile,
  project: string,
  files: ProjectFiles,
): Promise<DefinitionBundle | { problems: Problem[] }> {
  const { build } = bundler();
  const inputs: BundleInputs = new Map();
  try {
    const { outputFiles } = await build({
      ...bundleOptions(project, files, [installationPlugin(), projectPlugin(inputs, files)]),
      write: false,
      entryPoints: [definition.path],
      outfile: path.join(project, "definition.mjs"),
      sourcemap: "external",
      sourcesContent: true,
    });
    const map = outputFiles.find((file) => file.path.endsWith(".map"))?.text ?? "";
    const code = outputFiles.find((file) => !file.path.endsWith(".map"))?.text ?? "";
    return assemble(code, absoluteSources(map, project), inputs) ?? tooLarge(definition, project);
  } catch (thrown) {
    return { problems: await buildProblems(project, files, thrown, definition.path) };
  }
}

/** Runners execute the bundle from another folder; its sources stay where they are. */
function absoluteSources(map: string, project: string): string {
  const parsed = JSON.parse(map) as { sources: string[] };
  const sources = parsed.sources.map((file) => pathToFileURL(path.resolve(project, file)).href);
  return JSON.stringify({ ...parsed, sources });
}

function assemble(code: string, map: string, read: BundleInputs): DefinitionBundle | undefined {
  const inline = Buffer.from(map).toString("base64");
  const bundle = `${code}//# sourceMappingURL=data:application/json;base64,${inline}\n`;
  if (byteLength(bundle) > LIMITS.bundle) return undefined;
  const inputs = [...read].map(([file, sha256]) => ({ path: file, sha256 }));
  return { bundle, map, inputs, digest: digestOf(bundle, inputs) };
}

function tooLarge(definition: DefinitionFile, project: string): { problems: Problem[] } {
  const message = `its bundle is larger than ${LIMITS.bundle} bytes; import less`;
  return { problems: [problemOf(displayPath(project, definition.path), message)] };
}
