// `npm run bench`: builds dist/ and the benchmarks, then runs them.
// `npm run bench -- P1 P4` runs some of them; `--quick` uses smaller sizes; `--list` names them;
// `--no-build` takes dist/ as it is.
import { build } from "esbuild";
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

// Two levels below the root, like src/ and dist/, so that installationUrl finds it.
const OUTPUT = path.resolve("scripts/.bench");
const PROGRAMS = "bench/programs";

if (!process.argv.includes("--no-build")) {
  const { status } = spawnSync(process.execPath, ["scripts/build.mjs", "--no-types"], {
    stdio: "inherit",
  });
  if (status !== 0) process.exit(1);
}

rmSync(OUTPUT, { recursive: true, force: true });
await build({
  entryPoints: ["bench/main.ts", ...readdirSync(PROGRAMS).map((file) => path.join(PROGRAMS, file))],
  outdir: OUTPUT,
  entryNames: "[name]",
  outExtension: { ".js": ".mjs" },
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  packages: "external",
  sourcemap: "inline",
  sourcesContent: false,
  logLevel: "warning",
});

// Extra certificate authorities add about 36 ms to every start of Node 20.
const { NODE_EXTRA_CA_CERTS: _, ...env } = process.env;
const { status } = spawnSync(
  process.execPath,
  ["--enable-source-maps", path.join(OUTPUT, "main.mjs"), ...process.argv.slice(2)],
  { stdio: "inherit", env },
);
process.exit(status ?? 1);
