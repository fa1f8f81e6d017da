import { createRequire } from "node:module";
import path from "node:path";
import { loadDefinitions } from "../definitions.ts";
import type { Cli } from "../invocation.ts";
import { specTypes } from "../spec-types.ts";
import { writeFiles } from "../write-files.ts";
import type { Action } from "../verb.ts";

type Options = { out?: string; check?: boolean };

export const run: Action<Options> = async (cli, options) => {
  const content = await specTypes(await loadDefinitions(cli));
  if (options.out === "-") return cli.output.line(content.trimEnd());
  const file =
    options.out === undefined
      ? path.join(cli.project, ".pi", "resource-specs.d.ts")
      : path.resolve(options.out);
  const code = writeFiles(cli, [{ file, content }], options.check === true);
  adviseAboutPackage(cli);
  return code;
};

function adviseAboutPackage(cli: Cli): void {
  try {
    createRequire(path.join(cli.project, "package.json")).resolve(
      "@osolmaz/pi-workflows/package.json",
    );
  } catch {
    cli.output.note(
      "Editors check with it once the project knows the package: npm install --save-dev @osolmaz/pi-workflows",
    );
  }
}
