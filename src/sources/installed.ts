import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { installationUrl } from "../model/installation.ts";
import { nearestName } from "../model/nearest.ts";
import { displayPath } from "./project.ts";

/** The package's name: imports of it lead to the running installation, whatever a project has. */
export const PACKAGE = "@osolmaz/pi-workflows";

/** The importable modules of the running installation: from specifier to absolute path. */
export function installedModules(): ReadonlyMap<string, string> {
  const manifest = JSON.parse(readFileSync(installationUrl("package.json"), "utf8")) as {
    exports: Record<string, string | { default: string }>;
  };
  const modules = new Map<string, string>();
  for (const [subpath, target] of Object.entries(manifest.exports)) {
    if (typeof target === "string") continue;
    modules.set(PACKAGE + subpath.slice(1), fileURLToPath(installationUrl(target.default)));
  }
  return modules;
}

/** What an import of a module that this product does not have is told. */
export function noSuchModule(specifier: string): string {
  const modules = [...installedModules().keys()];
  const below = modules.filter((name) => name !== PACKAGE).map((name) => name.slice(BELOW.length));
  const near = nearestName(specifier.slice(BELOW.length), below);
  const hint =
    near === undefined ? `there are: ${modules.join(", ")}` : `did you mean "${BELOW}${near}"?`;
  return `${specifier} does not exist; ${hint}`;
}

const BELOW = `${PACKAGE}/`;

/** What an import of a name that the module at `file` does not have is told. */
export function noSuchExport(project: string, file: string, name: string): string {
  const [own] = [...installedModules()].find(([, target]) => target === file) ?? [];
  const [, installed] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(file) ?? [];
  return `${own ?? installed ?? displayPath(project, file)} has no export named ${name}`;
}

const OWN_CODE = ["dist/", "src/"].map((folder) => fileURLToPath(installationUrl(folder)));

/** Whether `file` is a part of the running installation. */
export function isOwnCode(file: string): boolean {
  return OWN_CODE.some((folder) => file.startsWith(folder));
}
