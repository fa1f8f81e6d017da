import path from "node:path";
import { plainEnvironment } from "../../model/environment.ts";
import type { PiAgentOptions } from "./agents.ts";

// To reach a model through a proxy, and to find Pi's own folder.
const OF_PI =
  /^(?:(?:HTTPS?|ALL|NO)_PROXY|(?:https?|all|no)_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_FILE|SSL_CERT_DIR|PI_CODING_AGENT_DIR|PI_PACKAGE_DIR)$/;

/** Pi is to do what it is asked and nothing beside: no updates, downloads or reports. */
const QUIET = { PI_OFFLINE: "1", PI_TELEMETRY: "0", PI_SKIP_VERSION_CHECK: "1", NO_COLOR: "1" };

/** The environment of a Pi, but for credentials. */
export function piEnvironment(env: PiAgentOptions["env"]): Record<string, string> {
  return { ...plainEnvironment(env, OF_PI), ...QUIET };
}

/** Places where `program` may be: itself where it is a path, else on `PATH`. */
export function candidates(program: string, PATH = ""): string[] {
  if (program.includes("/")) return [path.resolve(program)];
  return PATH.split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, program));
}
