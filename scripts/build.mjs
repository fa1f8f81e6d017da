// Builds dist/: one esbuild run with shared chunks (the command starts fast), then the types.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
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
  "src/resource-managers/index.ts",
];

// `node scripts/build.mjs --no-types [ENTRY…]` builds only the entry points named.
const named = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const quick = process.argv.includes("--no-types");
const next = `.build-${process.pid}`;
await build({
  entryPoints: (named.length > 0 ? named : ENTRY_POINTS).filter((file) => existsSync(file)),
  outdir: next,
  outbase: "src",
  chunkNames: "chunks/[name]-[hash]",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
  sourcemap: true,
  sourcesContent: false,
  logLevel: "warning",
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
