// Builds dist/: bundles with shared chunks, the start of the command line apart, then the types.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { globSync } from "tinyglobby";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
process.chdir(root);

if (process.argv.includes("--if-missing") && existsSync("dist/cli/main.js")) process.exit(0);
// A package installed from the registry has dist/ and no sources.
if (!existsSync("src")) process.exit(0);

const ENTRY_POINTS = [
  "src/cli/main.ts",
  "src/server/main.ts",
  "src/server/index.ts",
  "src/runner/child.ts",
  "src/runner/resolver-child.ts",
  "src/runner/pi/submit-result.ts",
  "src/resource-managers/index.ts",
  "src/workflows/index.ts",
  "src/testing/index.ts",
  "src/extension/index.ts",
];

// Pi may be a compiled program that finds no packages of ours, so its extension is one whole file.
const EXTENSION = "src/extension/index.ts";

// `node scripts/build.mjs --no-types [ENTRY…]` builds only the entry points named.
const named = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const quick = process.argv.includes("--no-types");
const next = `.build-${process.pid}`;

const COMMON = {
  outdir: next,
  outbase: "src",
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  sourcemap: true,
  sourcesContent: false,
  logLevel: "warning",
};

// Start-up of the command line (P10): reading one file is cheaper than twenty chunks, so what it
// loads first is three files, each whole: the start, `get`, and the reader. What it loads on demand
// stands beside it under dist/cli/, by the name of its source.
const START = "src/cli/main.ts";
const WHOLE = ["src/cli/commands/get.ts", "src/store/sqlite/reader.ts"];
const LATER = [
  ...globSync("src/cli/commands/*.ts"),
  "src/cli/report-error.ts",
  "src/server/client.ts",
].filter((file) => !WHOLE.includes(file));
const outputs = (files) => files.map((file) => ({ in: file, out: `cli/${path.parse(file).name}` }));

/** Leaves packages to Node, but for those that the start needs at once, and `LATER` to Node too. */
const apart = {
  name: "apart",
  setup({ onResolve, resolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path: name, kind }) => {
      if (kind === "entry-point" || name === "commander" || name === "picocolors") return undefined;
      return { path: name, external: true };
    });
    onResolve({ filter: /\.ts$/ }, async ({ path: name, kind, ...how }) => {
      if (kind !== "dynamic-import" || how.pluginData === apart) return undefined;
      const found = await resolve(name, { kind, ...how, pluginData: apart });
      return { path: `./${path.parse(found.path).name}.js`, external: true };
    });
  },
};

/** What the start needs of packages, at less cost: measured, each saves a tenth of `node -e 0`. */
const lean = {
  name: "lean",
  setup({ onResolve, onLoad }) {
    // Commander runs verbs that are programs of their own with it; there are none.
    onResolve({ filter: /^node:child_process$/ }, ({ importer }) =>
      importer.includes("/commander/") ? { path: "{}", namespace: "lean" } : undefined,
    );
    // Importing a package that is no ES module makes Node parse it for its exports, and importing a
    // module of its own makes it copy all of its exports; requiring them does neither.
    onResolve({ filter: /^(?:node:.*|better-sqlite3)$/ }, ({ path: name, kind }) =>
      kind === "import-statement"
        ? { path: `require(${JSON.stringify(name)})`, namespace: "lean" }
        : { path: name, external: true },
    );
    onLoad({ filter: /./, namespace: "lean" }, ({ path: value }) => ({
      contents: `module.exports = ${value};`,
    }));
  },
};
// Packages that are not ES modules ask for Node's own modules by `require`.
const REQUIRE =
  'import { createRequire as $createRequire } from "node:module"; const require = $createRequire(import.meta.url);';

const wanted = (named.length > 0 ? named : ENTRY_POINTS).filter((file) => existsSync(file));
const entries = wanted.filter((file) => file !== START && file !== EXTENSION);
if (wanted.includes(EXTENSION)) await build({ ...COMMON, entryPoints: [EXTENSION] });
if (wanted.includes(START)) {
  await build({
    ...COMMON,
    entryPoints: [START],
    plugins: [lean, apart],
    banner: { js: REQUIRE },
  });
  await build({
    ...COMMON,
    entryPoints: outputs(WHOLE),
    packages: "external",
    plugins: [lean],
    banner: { js: REQUIRE },
  });
  entries.push(...LATER);
}
await build({
  ...COMMON,
  entryPoints: [
    ...entries
      .filter((file) => !LATER.includes(file))
      .map((file) => ({ in: file, out: file.slice(4, -3) })),
    ...outputs(entries.filter((file) => LATER.includes(file))),
  ],
  splitting: true,
  packages: "external",
});
// Files move into place one by one, so that a process that starts meanwhile finds a whole build:
// the names of chunks hold their content's hash. Only a full build drops what is no longer made.
if (!quick) rmSync("dist", { recursive: true, force: true });
for (const entry of readdirSync(next, { recursive: true, withFileTypes: true })) {
  if (!entry.isFile()) continue;
  const from = path.join(entry.parentPath, entry.name);
  const to = path.join("dist", path.relative(next, from));
  mkdirSync(path.dirname(to), { recursive: true });
  renameSync(from, to);
}
rmSync(next, { recursive: true, force: true });
if (!quick) {
  execFileSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
}
if (existsSync("dist/cli/main.js")) chmodSync("dist/cli/main.js", 0o755);
