// Writes every generated file; with --check, fails when one is not as it would be written.
import { build } from "esbuild";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
const check = process.argv.includes("--check");

// In the tree, so that packages resolve; under scripts/, so that installationUrl finds the root.
const bundle = path.resolve("scripts/.generated/generated.mjs");
await build({
  entryPoints: ["scripts/generated.ts"],
  outfile: bundle,
  bundle: true,
  format: "esm",
  platform: "node",
  packages: "external",
  logLevel: "warning",
});
const { generatedFiles } = await import(pathToFileURL(bundle).href);
rmSync(path.dirname(bundle), { recursive: true });

const stale = [];
for (const [file, content] of Object.entries(await generatedFiles())) {
  if (readOrEmpty(file) === content) continue;
  stale.push(file);
  if (check) continue;
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, content);
}
if (stale.length > 0) console.log(`${check ? "out of date" : "written"}: ${stale.join(", ")}`);
if (check && stale.length > 0) console.log("run: npm run generate");
process.exit(check && stale.length > 0 ? 1 : 0);

function readOrEmpty(file) {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return "";
  }
}
