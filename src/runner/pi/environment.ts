import path from "node:path";
import type { PiAgentOptions } from "./agents.ts";

// What programs need to run, to reach a model through a proxy, and to find Pi's own folder. No
// credentials, and no NODE_OPTIONS, which load other code.
const PASSED =
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TZ|TERM|TMPDIR|XDG_.*|(?:HTTPS?|ALL|NO)_PROXY|(?:https?|all|no)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR|PI_CODING_AGENT_DIR|PI_PACKAGE_DIR)$/;

/** Pi is to do what it is asked and nothing beside: no updates, downloads or reports. */
const QUIET = { PI_OFFLINE: "1", PI_TELEMETRY: "0", PI_SKIP_VERSION_CHECK: "1", NO_COLOR: "1" };

/** The environment of a Pi, but for credentials. */
export function piEnvironment(env: PiAgentOptions["env"]): Record<string, string> {
  const passed = Object.entries(env).filter(
    (entry): entry is [string, string] => PASSED.test(entry[0]) && entry[1] !== undefined,
  );
  return { ...Object.fromEntries(passed), ...QUIET };
}

/** Places where `program` may be: itself where it is a path, else on `PATH`. */
export function candidates(program: string, PATH = ""): string[] {
  if (program.includes("/")) return [path.resolve(program)];
  return PATH.split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, program));
}
