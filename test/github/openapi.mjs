// @ts-check
/** Judges requests and answers by GitHub's published OpenAPI description. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Ajv } from "ajv";
import formats from "ajv-formats";

/**
 * @typedef {Record<string, unknown>} Json
 * @typedef {{ template: string, pattern: RegExp, methods: Record<string, any> }} Path
 */

const require = createRequire(import.meta.url);

/** @type {{ paths: Path[], components: any, ajv: Ajv } | undefined} */
let loaded;
/** @type {Map<string, import("ajv").ValidateFunction>} */
const compiled = new Map();

/** Read once per process: 13 MB of JSON, about 100 ms. */
function description() {
  if (loaded) return loaded;
  const file = require.resolve("@octokit/openapi/generated/api.github.com.json");
  const { paths, components } = JSON.parse(readFileSync(file, "utf8"));
  const ajv = new Ajv({ strict: false, allErrors: true, logger: false });
  formats.default(ajv, ["date-time", "uri"]);
  loaded = {
    ajv,
    components,
    // Of several templates that match, the one with the most literal text is meant.
    paths: Object.entries(paths)
      .map(([template, methods]) => ({
        template,
        methods: /** @type {Record<string, any>} */ (methods),
        pattern: patternOf(template),
      }))
      .sort((a, b) => literal(b.template) - literal(a.template)),
  };
  return loaded;
}

/** A ref, a branch, a content path and `base...head` may hold slashes; nothing else may. */
function patternOf(/** @type {string} */ template) {
  const source = template
    .replace(/[.*+?^$()|[\]\\]/g, "\\$&")
    .replace(/\{(ref|branch|path|basehead)\}/g, "(?:.+)")
    .replace(/\{[^}]+\}/g, "(?:[^/]+)");
  return new RegExp(`^${source}$`);
}

/** The operation that a request means. @param {string} method @param {string} pathname */
function operationOf(method, pathname) {
  const verb = method.toLowerCase();
  const found = description().paths.find(
    ({ methods, pattern }) => methods[verb] && pattern.test(pathname),
  );
  return found && { name: `${method} ${found.template}`, operation: found.methods[verb] };
}

const literal = (/** @type {string} */ template) => template.replace(/\{[^}]+\}/g, "").length;

/**
 * What is wrong with an answer; undefined where nothing is.
 * @param {{ method: string, pathname: string, status: number, body: unknown }} answer
 * @returns {string | undefined}
 */
export function judgeAnswer({ method, pathname, status, body }) {
  const found = operationOf(method, pathname);
  if (!found) return `${method} ${pathname}: not in GitHub's description`;
  // Redirects of renamed repositories and bad tokens are general, and described for few operations.
  if ([301, 307, 401].includes(status)) return undefined;
  const response = dereference(found.operation.responses[String(status)]);
  if (!response) return `${found.name}: no status ${status} described`;
  const schema = response.content?.["application/json"]?.schema;
  if (!schema) {
    return body === undefined || status >= 400
      ? undefined
      : `${found.name} ${status}: a body where none is described`;
  }
  return judge(`${found.name} ${status}`, schema, body);
}

/**
 * What is wrong with a request; undefined where nothing is.
 * @param {{ method: string, pathname: string, body: unknown }} request
 * @returns {string | undefined}
 */
export function judgeRequest({ method, pathname, body }) {
  const found = operationOf(method, pathname);
  if (!found) return `${method} ${pathname}: not in GitHub's description`;
  const schema = dereference(found.operation.requestBody)?.content?.["application/json"]?.schema;
  if (body === undefined || !schema) return undefined;
  return judge(`${found.name} request`, schema, body);
}

/** @param {string} name @param {any} schema @param {unknown} value */
function judge(name, schema, value) {
  let validate = compiled.get(name);
  if (!validate) {
    validate = description().ajv.compile(withDefinitions(schema));
    compiled.set(name, validate);
  }
  if (validate(value)) return undefined;
  const errors = (validate.errors ?? []).map(
    ({ instancePath, message }) => `${instancePath || "/"} ${message}`,
  );
  return `${name}: ${[...new Set(errors)].join("; ")}`;
}

/** @param {any} node */
function dereference(node) {
  if (!node?.$ref) return node;
  const [, , kind, name] = node.$ref.split("/");
  return dereference(description().components[kind][name]);
}

/** The schema with exactly the components that it reaches, as JSON Schema. @param {any} root */
function withDefinitions(root) {
  /** @type {Record<string, unknown>} */
  const definitions = {};
  /** @param {any} node @returns {any} */
  const convert = (node) => {
    if (Array.isArray(node)) return node.map(convert);
    if (typeof node !== "object" || node === null) return node;
    if (typeof node.$ref === "string") {
      const name = node.$ref.slice(node.$ref.lastIndexOf("/") + 1);
      if (!(name in definitions)) {
        definitions[name] = true;
        definitions[name] = convert(description().components.schemas[name]);
      }
      return { $ref: `#/definitions/${name}` };
    }
    const { nullable, example: _example, examples: _examples, ...rest } = node;
    const plain = Object.fromEntries(
      Object.entries(rest).map(([key, value]) => [
        key,
        key === "enum" || key === "default" || key === "required" ? value : convert(value),
      ]),
    );
    if (nullable !== true) return plain;
    if (typeof plain.type !== "string") return { anyOf: [{ type: "null" }, plain] };
    const withNull = Array.isArray(plain.enum) ? { enum: [...plain.enum, null] } : {};
    return { ...plain, ...withNull, type: [plain.type, "null"] };
  };
  const schema = convert(root);
  return { ...schema, definitions };
}
