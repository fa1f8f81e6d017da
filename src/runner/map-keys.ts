import { LIMITS } from "../model/limits.ts";
import type { ResourceManager } from "../resource-managers/define.ts";
import type { Keys, Source } from "../resource-managers/sources.ts";
import { messageOf } from "./message.ts";
import type { MapInput, MapRequest, MapResult } from "./port.ts";

/**
 * Asks one source of a manager which keys an input is about: what both transports do for a
 * `MapRequest`. Never rejects.
 */
export async function mapKeys(
  manager: ResourceManager,
  { source: index, input }: Pick<MapRequest, "source" | "input">,
  env: NodeJS.ProcessEnv,
): Promise<MapResult> {
  const source = manager.sources?.[index];
  let keys: unknown;
  try {
    keys = await call(source, input, env);
  } catch (thrown) {
    return { kind: "refused", message: messageOf(thrown) };
  }
  return check(keys);
}

function call(source: Source | undefined, input: MapInput, env: NodeJS.ProcessEnv): Keys {
  if (source?.kind === "files" && input.kind === "files" && source.map) {
    return source.map(input.paths);
  }
  if (source?.kind === "watch" && input.kind === "watch" && source.map) {
    return source.map({ resource: input.resource, removed: input.removed });
  }
  if (source?.kind === "webhook" && input.kind === "webhook") {
    return source.map({ headers: input.headers, body: input.body, env: { ...env } });
  }
  throw new Error(`this definition has no source that maps ${input.kind} at this place`);
}

function check(keys: unknown): MapResult {
  if (!Array.isArray(keys)) return invalid(`returned ${typeof keys}; return an array of keys`);
  if (keys.length > LIMITS.mappedKeys) {
    return invalid(
      `returned ${keys.length} keys, at most ${LIMITS.mappedKeys}; use a prefix: "a/*"`,
    );
  }
  const wrong = keys.findIndex((key) => typeof key !== "string" || !fits(key));
  if (wrong >= 0) {
    return invalid(`key ${wrong} of its answer is no text of 1 to ${LIMITS.key} characters`);
  }
  return { kind: "keys", keys: [...new Set(keys as string[])] };
}

function fits(key: string): boolean {
  return key.length > 0 && key.length <= LIMITS.key;
}

function invalid(what: string): MapResult {
  return { kind: "invalid", message: `map ${what}` };
}
