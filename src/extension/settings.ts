import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import path from "node:path";
import { PiWorkflowsError } from "../model/errors.ts";
import { PI_SETTINGS, PI_SETTINGS_FILE, type PiSettings } from "../model/pi-settings.ts";

/**
 * Settings of a session: the user's own (`~/.pi/agent/pi-workflows.json`), then the project's
 * (`.pi/pi-workflows.json`), which may also let the model act without a confirmation, where the
 * project is trusted. They are read once, when the session begins, so that a file that the model
 * writes meanwhile changes nothing.
 * @throws PiWorkflowsError INVALID_CONFIG
 */
export function readSettings(project: string, trusted: boolean): PiSettings {
  const user = path.join(agentFolder(), path.basename(PI_SETTINGS_FILE));
  return {
    ...DEFAULTS,
    ...readFile(user, "user"),
    ...(trusted ? readFile(path.join(project, PI_SETTINGS_FILE), "project") : {}),
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
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw invalid(file, thrown instanceof Error ? thrown.message : String(thrown));
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (thrown) {
    throw invalid(file, thrown instanceof Error ? thrown.message : String(thrown));
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw invalid(file, "it must hold an object");
  }
  for (const [name, member] of Object.entries(value)) {
    if (name === "$schema") continue;
    const setting = Object.hasOwn(PI_SETTINGS, name)
      ? PI_SETTINGS[name as keyof PiSettings]
      : undefined;
    if (!setting) throw invalid(file, `${name} is not known; there is ${NAMES}`);
    if (typeof member !== "boolean") throw invalid(file, `${name} must be true or false`);
    if (setting.projectOnly && scope !== "project") {
      throw invalid(file, `${name} is for ${PI_SETTINGS_FILE} of a project`);
    }
  }
  const { $schema: _schema, ...settings } = value as Partial<PiSettings> & { $schema?: unknown };
  return settings;
}

const NAMES = Object.keys(PI_SETTINGS).join(", ");

function invalid(file: string, reason: string): PiWorkflowsError {
  return new PiWorkflowsError("INVALID_CONFIG", `${file}: ${reason}`, {
    hint: "Mend the file, then /reload; until then the defaults hold.",
  });
}
