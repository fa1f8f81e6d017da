// Builds dist/: one esbuild run with shared chunks (the command starts fast), then the types.
import { build } from "esbuild";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, rmSync } from "node:fs";
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

rmSync("dist", { recursive: true, force: true });
await build({
  entryPoints: ENTRY_POINTS.filter((file) => existsSync(file)),
  outdir: "dist",
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
if (!process.argv.includes("--no-types")) {
  execFileSync("node_modules/.bin/tsc", ["-p", "tsconfig.build.json"], { stdio: "inherit" });
}
if (existsSync("dist/cli/main.js")) chmodSync("dist/cli/main.js", 0o755);
