// The reference of P9: one bare esbuild bundle of every TypeScript file of a folder, and its import.
// Arguments: the folder, the file to write, what `@osolmaz/pi-workflows/resource-managers` is.
import { build } from "esbuild";
import { readdirSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const [folder = ".", outfile = "", api = ""] = process.argv.slice(2);
const names = readdirSync(folder);
const contents = [
  ...names.map((name, index) => `import r${index} from ${JSON.stringify(`./${name}`)};`),
  `export default [${names.map((_, index) => `r${index}`).join(", ")}];`,
].join("\n");
await build({
  stdin: { contents, resolveDir: path.resolve(folder), loader: "js" },
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  alias: { "@osolmaz/pi-workflows/resource-managers": api },
  packages: "external",
  sourcemap: true,
  logLevel: "error",
});
const bundle = (await import(pathToFileURL(outfile).href)) as { default: unknown[] };
console.log(bundle.default.length);
