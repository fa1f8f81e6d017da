import { hash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { isBuiltin } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Loader, OnResolveArgs, OnResolveResult, Plugin, PluginBuild } from "esbuild";
import { installationUrl } from "../model/installation.ts";
import { installedModules, noSuchModule, PACKAGE } from "./installed.ts";
import { nearestName } from "../model/nearest.ts";
import { locateAlias } from "./commit-plugin.ts";
import type { CommittedFiles, ProjectFiles } from "./project-files.ts";
import { byteFault, FileFault, readFault } from "./text.ts";

/** The local files that went into a bundle: by real path, the SHA-256 of the bytes bundled. */
export type BundleInputs = Map<string, string>;

const LOADERS: Readonly<Record<string, Loader>> = {
  ".ts": "ts",
  ".mts": "ts",
  ".cts": "ts",
  ".tsx": "tsx",
  ".js": "js",
  ".mjs": "js",
  ".cjs": "js",
  ".jsx": "jsx",
  ".json": "json",
};

/**
 * Reads local files once, so that what is hashed is what is bundled, and leaves packages where they
 * are: each import of one becomes the `file:` URL that it resolves to from its importer.
 */
export function projectPlugin(inputs: BundleInputs, files: ProjectFiles): Plugin {
  return {
    name: "project",
    setup(build) {
      readLocalFiles(build, inputs, files);
      leavePackagesOutside(build, files.commit);
    },
  };
}

/** Leads imports of this product to the running installation, outside the bundle. */
export function installationPlugin(): Plugin {
  const modules = installedModules();
  return {
    name: "installation",
    setup(build) {
      build.onResolve({ filter: new RegExp(`^${PACKAGE}(?:/|$)`) }, (args) => {
        const file = modules.get(args.path);
        if (file !== undefined) return { path: pathToFileURL(file).href, external: true };
        return { errors: [{ text: noSuchModule(args.path) }] };
      });
    },
  };
}

function readLocalFiles(build: PluginBuild, inputs: BundleInputs, files: ProjectFiles): void {
  const filter = /\.(?:[cm]?[jt]s|[jt]sx|json)$/;
  build.onLoad({ filter, namespace: "file" }, async ({ path: file }) => {
    let contents: Buffer;
    try {
      contents = await files.read(file);
    } catch (thrown) {
      return { errors: [{ text: readFault(thrown), location: { file } }] };
    }
    const fault = byteFault(contents);
    if (fault !== undefined) return { errors: [{ text: fault, location: { file } }] };
    inputs.set(file, hash("sha256", contents, "hex"));
    return { contents, loader: LOADERS[path.extname(file)] ?? "js" };
  });
}

// Marks a resolution that this plugin asked for itself.
const ASKED = Symbol("asked");
// What looks like a package, but not like this one: the bundler knows that by an alias, and each
// call of a plugin costs 30 µs, which 10,000 spec files would pay.
const PACKAGES = new RegExp(`^(?:[^./@]|${allBut(PACKAGE)})`);

function leavePackagesOutside(build: PluginBuild, commit: CommittedFiles | undefined): void {
  const known = new Map<string, Promise<OnResolveResult>>();
  const resolveOnce = (args: OnResolveArgs): Promise<OnResolveResult> => {
    const id = JSON.stringify([args.resolveDir, args.path, args.kind]);
    const resolved = known.get(id) ?? resolvePackage(build, args, commit);
    known.set(id, resolved);
    return resolved;
  };
  build.onResolve({ filter: PACKAGES, namespace: "file" }, (args) =>
    args.pluginData === ASKED || args.kind === "entry-point" ? undefined : resolveOnce(args),
  );
}

async function resolvePackage(
  build: PluginBuild,
  args: OnResolveArgs,
  commit: CommittedFiles | undefined,
): Promise<OnResolveResult> {
  if (isBuiltin(args.path)) return { path: args.path, external: true };
  if (/^[a-z]+:/.test(args.path)) return { path: args.path, external: true };
  const { importer, kind } = args;
  const aliased = commit?.holds(importer) ? await locateAlias(commit, args.path) : undefined;
  if (aliased !== undefined) return { path: aliased };
  const resolveDir = commit ? nearestFolder(args.resolveDir) : args.resolveDir;
  const options = { importer, kind, namespace: args.namespace, pluginData: ASKED };
  let found = await build.resolve(args.path, { ...options, resolveDir });
  if (found.errors.length > 0 && /^zod(?:\/|$)/.test(args.path)) {
    // Definitions need zod, and few projects have a package.json of their own.
    const own = fileURLToPath(installationUrl("."));
    found = await build.resolve(args.path, { ...options, resolveDir: own });
  }
  if (found.errors.length > 0) {
    const name = args.path.split("/", args.path.startsWith("@") ? 2 : 1).join("/");
    return { errors: [{ text: noSuchPackage(name, build.initialOptions.absWorkingDir) }] };
  }
  if (runsOutside(found.path)) {
    const target = kind === "require-call" ? found.path : pathToFileURL(found.path).href;
    return { path: target, external: true };
  }
  if (commit?.holds(found.path)) return inCommit(commit, found.path, args.path);
  return { path: found.path, namespace: found.namespace, sideEffects: found.sideEffects };
}

function noSuchPackage(name: string, project = "."): string {
  const near = nearestName(name, [PACKAGE, "zod", ...installedPackages(project)]);
  // Where it is mistyped, installing it by that name may bring in anything.
  const hint =
    near === undefined
      ? `install it in the project: npm install ${name}`
      : `did you mean ${JSON.stringify(near)}?`;
  return `can't find the package ${name}; ${hint}`;
}

function installedPackages(project: string): string[] {
  try {
    return readdirSync(path.join(project, "node_modules"));
  } catch {
    return [];
  }
}

/** A folder of the commit need not be on the disk, and packages are looked for from one that is. */
function nearestFolder(folder: string): string {
  let nearest = folder;
  while (!existsSync(nearest) && nearest !== path.dirname(nearest)) nearest = path.dirname(nearest);
  return nearest;
}

/** A package linked to a folder of the project: its sources count as the commit has them. */
async function inCommit(
  { tree, inTree }: CommittedFiles,
  file: string,
  name: string,
): Promise<OnResolveResult> {
  try {
    await tree.locate(inTree(file));
    return { path: file };
  } catch (thrown) {
    if (!(thrown instanceof FileFault)) throw thrown;
    return { errors: [{ text: `${name} leads to ${inTree(file)}: ${thrown.message}` }] };
  }
}

/** Installed JavaScript runs where it is; sources linked into node_modules are project files. */
function runsOutside(file: string): boolean {
  const installed = file.split(path.sep).includes("node_modules");
  return installed && /\.(?:[cm]?js|node)$/.test(file);
}

/** A pattern (without lookahead, which the bundler lacks) of all that starts with `@` but not so. */
function allBut(prefix: string): string {
  const escape = (text: string) => text.replaceAll(/[/.*+?^${}()|[\]\\-]/g, "\\$&");
  return [...prefix]
    .slice(1)
    .map((letter, index) => `${escape(prefix.slice(0, index + 1))}[^${escape(letter)}]`)
    .join("|");
}
