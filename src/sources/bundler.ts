import { createRequire } from "node:module";
import type * as esbuild from "esbuild";

/**
 * The bundler. Required rather than imported: an import first looks for the names that its large
 * file exports, which takes longer than running it. Loaded when it is first needed.
 */
export function bundler(): typeof esbuild {
  return createRequire(import.meta.url)("esbuild") as typeof esbuild;
}
