import type { Json } from "../model/canonical.ts";
import type { JsonSchema } from "../model/manifest.ts";

/** How one value is asked for in a dialog. */
export type Asking =
  | { by: "choice"; options: { label: string; value: Json }[] }
  | { by: "text"; read: (text: string) => Json | undefined; placeholder: string }
  | { by: "members"; members: { name: string; about?: string; asking: Simple }[] }
  | { by: "json"; prefill: string };
type Simple = Extract<Asking, { by: "choice" | "text" }>;

/** More than this is clearer in an editor. */
const MOST_MEMBERS = 5;

/**
 * How an answer of a schema is asked for: yes or no, one of a list, a line of text or a number; for
 * an object of a few such members each of them; anything else as JSON in an editor.
 */
export function askingOf(schema: JsonSchema | undefined): Asking {
  if (schema === undefined) return { by: "json", prefill: "" };
  return simple(schema) ?? members(schema) ?? { by: "json", prefill: skeletonOf(schema) };
}

function simple(schema: JsonSchema): Simple | undefined {
  const options = optionsOf(schema);
  if (options) return { by: "choice", options };
  switch (schema["type"]) {
    case "string":
      return { by: "text", read: (text) => text, placeholder: "text" };
    case "number":
    case "integer":
      return { by: "text", read: numberOf, placeholder: schema["type"] };
    default:
      return undefined;
  }
}

function optionsOf(schema: JsonSchema): { label: string; value: Json }[] | undefined {
  if (schema["type"] === "boolean") {
    return [
      { label: "Yes", value: true },
      { label: "No", value: false },
    ];
  }
  const alternatives = (schema["anyOf"] ?? schema["oneOf"]) as JsonSchema[] | undefined;
  const values =
    (schema["enum"] as Json[] | undefined) ??
    (alternatives?.every((one) => "const" in one)
      ? alternatives.map((one) => one["const"] as Json)
      : undefined);
  return values?.map((value) => ({
    label: typeof value === "string" ? value : JSON.stringify(value),
    value,
  }));
}

function numberOf(text: string): Json | undefined {
  const value = Number(text.trim());
  return text.trim() === "" || !Number.isFinite(value) ? undefined : value;
}

function members(schema: JsonSchema): Asking | undefined {
  const properties = Object.entries((schema["properties"] ?? {}) as Record<string, JsonSchema>);
  const required = new Set((schema["required"] ?? []) as string[]);
  if (properties.length === 0 || properties.length > MOST_MEMBERS) return undefined;
  const asked = properties.map(([name, member]) => {
    const asking = required.has(name) ? simple(member) : undefined;
    const about = member["description"];
    return asking && { name, asking, ...(typeof about === "string" ? { about } : {}) };
  });
  return asked.every((member) => member !== undefined)
    ? { by: "members", members: asked }
    : undefined;
}

function skeletonOf(schema: JsonSchema): string {
  const properties = Object.keys(schema["properties"] ?? {});
  if (properties.length === 0) return "";
  return JSON.stringify(Object.fromEntries(properties.map((name) => [name, null])), null, 2);
}
