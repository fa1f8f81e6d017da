import { createRequire } from "node:module";
import type * as CodeFrame from "@babel/code-frame";
import type * as AjvOfDraft07 from "ajv";
import type * as AjvOf2020 from "ajv/dist/2020.js";
import type { FormatsPlugin } from "ajv-formats";

// Packages that are loaded where they are first used: most starts need none. Required, not imported, because Node's
// `import()` of CommonJS modules is not safe where several are under way at once: now and then one
// resolves without the module's named exports.
const require = createRequire(import.meta.url);

/** Ajv for the dialect of 2020, the default. */
export function loadAjv2020(): typeof AjvOf2020.Ajv2020 {
  return (require("ajv/dist/2020.js") as typeof AjvOf2020).Ajv2020;
}

/** Ajv for the dialects draft-06 and draft-07. */
export function loadAjvOfDraft07(): typeof AjvOfDraft07.Ajv {
  return (require("ajv") as typeof AjvOfDraft07).Ajv;
}

/** Teaches an Ajv the formats of strings. */
export function loadFormats(): FormatsPlugin {
  return (require("ajv-formats") as { default: FormatsPlugin }).default;
}

/** Draws the lines around a place in a file. */
export function loadCodeFrame(): typeof CodeFrame.codeFrameColumns {
  return (require("@babel/code-frame") as typeof CodeFrame).codeFrameColumns;
}
