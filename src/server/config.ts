import { readFileSync } from "node:fs";
import { z } from "zod";
import { PiWorkflowsError } from "../model/errors.ts";

/** `config.json` of the state folder: what a person may set for the server of that folder. */
export const configSchema = z.strictObject({
  $schema: z.string().optional(),
  /** Webhooks are off unless this is here. */
  webhooks: z
    .strictObject({
      /** Of 127.0.0.1, where `POST /webhooks/NAME` is answered. 0 takes any; `server status` says which. */
      port: z.int().min(0).max(65_535),
    })
    .optional(),
  /** Where spans of passes, effects, runs and syncs are sent; the variables of OpenTelemetry win. */
  otlp: z
    .strictObject({
      /** Base of the collector's HTTP endpoint: `http://127.0.0.1:4318`. */
      endpoint: z.url({ protocol: /^https?$/ }),
    })
    .optional(),
  /** Of the agents that workflows ask. */
  pi: z
    .strictObject({
      /** Program and first arguments. Default `["pi"]`, looked for on the PATH of the server. */
      command: z.array(z.string().min(1)).min(1).optional(),
      /**
       * Names of further environment variables that Pi gets, beside those of model providers. They
       * are kept from runners, as those are.
       */
      env: z.array(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/)).optional(),
      /** The model for agents that name none. Default Pi's own. */
      model: z.string().min(1).optional(),
    })
    .optional(),
});

export type Config = z.infer<typeof configSchema>;

/**
 * Reads the configuration; one that is not there is an empty one.
 * @throws INVALID_CONFIG which names the file and every place that is wrong
 */
export function readConfig(file: string): Config {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw invalid(file, (cause as Error).message, cause);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw invalid(file, (cause as Error).message, cause);
  }
  const parsed = configSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const issues = parsed.error.issues.map(
    ({ path, message }) => `${z.core.toDotPath(path) || "the file"}: ${message}`,
  );
  throw invalid(file, issues.join("; "));
}

function invalid(file: string, reason: string, cause?: unknown): PiWorkflowsError {
  return new PiWorkflowsError("INVALID_CONFIG", `${file}: ${reason}`, { cause });
}
