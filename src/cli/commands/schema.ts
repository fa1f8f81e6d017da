import path from "node:path";
import { loadDefinitions } from "../definitions.ts";
import { specSchemas } from "../spec-schemas.ts";
import { writeFiles } from "../write-files.ts";
import type { Action } from "../verb.ts";

export const run: Action<{ check?: boolean }> = async (cli, options) => {
  const managers = await loadDefinitions(cli);
  const folder = path.join(cli.project, ".pi", "schemas");
  const code = writeFiles(cli, specSchemas(managers, folder), options.check === true);
  const [first] = managers;
  if (first && !options.check) {
    cli.output.note(
      `Refer to it at the top of a file in .pi/resources: "$schema": "../schemas/${first.name}.json"`,
    );
  }
  return code;
};
