import path from "node:path";
import { onTestFinished } from "vitest";
import { canonicalJson, fingerprintText } from "../../src/model/canonical.ts";
import type { ApplyChange } from "../../src/model/batch.ts";
import { defineResourceManager } from "../../src/resource-managers/define.ts";
import { createServer, type Server, type ServerOptions } from "../../src/server/index.ts";
import { tempFolder } from "./temp.ts";

/** The project of managers that tests hand over as objects. */
export const PROJECT = "/hosted";

/** A manager that is done at once. */
export const quiet = defineResourceManager<unknown, object>({
  name: "quiet",
  initialStatus: () => ({}),
  reconcile: (ctx) => ctx.settled(),
});

/** A server in this process, stopped when the test ends; it logs to its home. */
export async function host(
  options: ServerOptions = {},
): Promise<{ server: Server; home: string; socket: string }> {
  const home = options.home ?? path.join(tempFolder(), "home");
  const server = createServer({ project: PROJECT, managers: [quiet], ...options, home });
  onTestFinished(() => server.stop());
  await server.start();
  return { server, home, socket: path.join(home, "server.sock") };
}

/** A change that creates one resource of a manager. */
export function creation(key: string, spec: unknown = { size: 1 }, manager = "quiet"): ApplyChange {
  const text = canonicalJson(spec);
  return {
    kind: "create",
    manager,
    key,
    expected: 0,
    write: {
      spec: text,
      specHash: fingerprintText(text),
      initialStatus: "{}",
      labels: {},
      dependsOn: [],
      prunable: true,
      suspended: false,
      origin: { owner: { kind: "apply", name: "test" } },
    },
  };
}
