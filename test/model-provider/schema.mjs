// @ts-check
/** Judges requests and answers by OpenAI's published description of chat completions. */
import { readFileSync } from "node:fs";
import { Ajv } from "ajv";

/** @typedef {"ChatRequest" | "ChatChunk" | "Failure" | "ModelList"} Shape */

/** @type {Ajv | undefined} */
let loaded;

function description() {
  if (loaded) return loaded;
  const file = new URL("./openai-chat.schema.json", import.meta.url);
  loaded = new Ajv({ strict: false, allErrors: true, logger: false });
  loaded.addSchema(JSON.parse(readFileSync(file, "utf8")), "openai");
  return loaded;
}

/**
 * What is wrong with `value`; undefined where nothing is. Members that the description does not
 * name pass, as they do at providers that speak this protocol with additions of their own.
 * @param {Shape} shape @param {unknown} value @returns {string | undefined}
 */
export function judge(shape, value) {
  const validate = description().getSchema(`openai#/definitions/${shape}`);
  if (!validate) throw new Error(`the description has no ${shape}`);
  if (validate(value)) return undefined;
  const errors = (validate.errors ?? []).map(
    ({ instancePath, message }) => `${instancePath || "/"} ${message}`,
  );
  return `${shape}: ${[...new Set(errors)].slice(0, 5).join("; ")}`;
}
