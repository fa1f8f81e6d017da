import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { installationUrl, SERVER_FLAGS } from "../../model/installation.ts";
import type { Action } from "../verb.ts";

// Passed on so that the server drains; a terminal sends SIGINT to both, which is once too often
// only where the server does not mind.
const FORWARDED = ["SIGTERM", "SIGHUP"] as const;

export const run: Action<object> = async (cli) => {
  const program = fileURLToPath(installationUrl("dist/server/main.js"));
  const child = spawn(process.execPath, [...SERVER_FLAGS, program], {
    stdio: "inherit",
    env: { ...process.env, PI_WORKFLOWS_HOME: cli.home },
  });
  const forward = (signal: NodeJS.Signals) => void child.kill(signal);
  for (const signal of FORWARDED) process.on(signal, forward);
  try {
    const [code] = (await once(child, "exit")) as [number | null];
    return code ?? 1;
  } finally {
    for (const signal of FORWARDED) process.off(signal, forward);
  }
};
