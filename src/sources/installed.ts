import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { installationUrl } from "../model/installation.ts";

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
  return `${specifier} does not exist; there are ${[...installedModules().keys()].join(", ")}`;
}

const OWN_CODE = ["dist/", "src/"].map((folder) => fileURLToPath(installationUrl(folder)));

/** Whether `file` is a part of the running installation. */
export function isOwnCode(file: string): boolean {
  return OWN_CODE.some((folder) => file.startsWith(folder));
}
