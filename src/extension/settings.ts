import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { PiWorkflowsError } from "../model/errors.ts";
import {
  PI_PROJECT_SETTINGS,
  PI_SETTINGS,
  PI_SETTINGS_MEMBER,
  type PiSettings,
} from "../model/pi-settings.ts";

/**
 * Settings of a session, from the member `pi-workflows` of Pi's own settings: the user's, then the
 * project's (of the folder where Pi runs), which may also let the model act without a confirmation,
 * where Pi holds the project for trusted. They are read once, when the session begins, so that what the model writes meanwhile
 * changes nothing.
 * @throws PiWorkflowsError INVALID_CONFIG
 */
export function readSettings(cwd: string, trusted: boolean): PiSettings {
  return {
    ...DEFAULTS,
    ...readFile(path.join(agentFolder(), "settings.json"), "user"),
    ...(trusted ? readFile(path.join(cwd, PI_PROJECT_SETTINGS), "project") : {}),
  };
}

/** What holds where nothing is said. */
export const DEFAULTS: PiSettings = Object.fromEntries(
  Object.entries(PI_SETTINGS).map(([name, { default: value }]) => [name, value]),
) as PiSettings;

function agentFolder(): string {
  return process.env["PI_CODING_AGENT_DIR"] ?? path.join(homedir(), ".pi", "agent");
}

function readFile(file: string, scope: "user" | "project"): Partial<PiSettings> {
  const own = memberOf(file);
  if (own === undefined) return {};
  if (typeof own !== "object" || own === null || Array.isArray(own)) {
    throw invalid(file, "it must be an object");
  }
  for (const [name, value] of Object.entries(own)) {
    if (!Object.hasOwn(PI_SETTINGS, name)) {
      throw invalid(file, `${name} is not known; there is ${NAMES}`);
    }
    if (typeof value !== "boolean") throw invalid(file, `${name} must be true or false`);
    if (PI_SETTINGS[name as keyof PiSettings].projectOnly && scope !== "project") {
      throw invalid(file, `${name} is for ${PI_PROJECT_SETTINGS} of a project`);
    }
  }
  return own;
}

function memberOf(file: string): unknown {
  try {
    const settings = JSON.parse(readFileSync(file, "utf8")) as Record<string, unknown> | null;
    return settings?.[PI_SETTINGS_MEMBER];
  } catch {
    // There is none, or it is none: Pi itself says so.
    return undefined;
  }
}

const NAMES = Object.keys(PI_SETTINGS).join(", ");

function invalid(file: string, reason: string): PiWorkflowsError {
  return new PiWorkflowsError("INVALID_CONFIG", `${file}: ${PI_SETTINGS_MEMBER}: ${reason}`, {
    hint: "Mend the file, then /reload; until then the defaults hold.",
  });
}
