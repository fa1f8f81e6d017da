import { LIMITS } from "../model/limits.ts";
import { sourceDefinitionSchema, type SourceDefinition } from "../model/source.ts";
import type { Source } from "../resource-managers/sources.ts";
import { cronProblem } from "./cron.ts";

/** What is wrong with one source of a definition. */
export type SourceFault = { message: string; source?: unknown };

/** What a definition's sources are as plain data, and what is wrong with them. */
export function describeSources(
  sources: unknown,
  now: number,
): { sources: SourceDefinition[]; faults: SourceFault[] } {
  if (sources === undefined) return { sources: [], faults: [] };
  if (!Array.isArray(sources)) return failed([{ message: "sources: must be an array" }]);
  if (sources.length > LIMITS.sources) {
    return failed([{ message: `sources: at most ${LIMITS.sources}, not ${sources.length}` }]);
  }
  const described: SourceDefinition[] = [];
  const faults: SourceFault[] = [];
  for (const [index, source] of (sources as unknown[]).entries()) {
    const plain = plainOf(source);
    const message = typeof plain === "string" ? plain : faultOf(plain, now);
    if (message !== undefined) faults.push({ message: `sources[${index}]: ${message}`, source });
    else described.push(plain as SourceDefinition);
  }
  return { sources: described, faults };
}

function failed(faults: SourceFault[]): { sources: SourceDefinition[]; faults: SourceFault[] } {
  return { sources: [], faults };
}

const MADE_BY = "must be made by every(…), cron(…), files(…), watch(…) or webhook(…)";

/** The source without its functions, or what keeps it from being one. */
function plainOf(source: unknown): SourceDefinition | string {
  if (typeof source !== "object" || source === null || !("kind" in source)) return MADE_BY;
  const { map, ...rest } = source as Partial<Extract<Source, { map?: unknown }>>;
  if (map !== undefined && typeof map !== "function") return "map: must be a function";
  if (rest.kind === "webhook" && map === undefined) return "webhook(…) needs a function that maps";
  const mapped = rest.kind === "files" || rest.kind === "watch";
  const parsed = sourceDefinitionSchema.safeParse({
    ...rest,
    ...(mapped ? { mapped: map !== undefined } : {}),
  });
  if (parsed.success) return parsed.data;
  const issue = parsed.error.issues[0];
  if (issue === undefined || issue.path[0] === "kind") return MADE_BY;
  return `${issue.path.map(String).join(".")}: ${issue.message}`;
}

/** What is wrong with a source that has the form of one. */
function faultOf(source: SourceDefinition, now: number): string | undefined {
  switch (source.kind) {
    case "every":
      return source.everyMs >= 1_000 ? undefined : 'every(…): from "1s" to "366d"';
    case "cron": {
      const { expression, timezone } = source;
      const problem = cronProblem(expression, timezone, now);
      return problem && `cron(${JSON.stringify(expression)}): ${problem}`;
    }
    case "files":
      return source.globs.map(globFault).find((fault) => fault !== undefined);
    case "watch":
    case "webhook":
      return undefined;
  }
}

function globFault(glob: string): string | undefined {
  if (!glob.startsWith("/") && !glob.split("/").includes("..") && !glob.startsWith("!")) {
    return undefined;
  }
  return `files(${JSON.stringify(glob)}): must be relative to the project, and lie in it`;
}
