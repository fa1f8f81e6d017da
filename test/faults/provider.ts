import { fork } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { onTestFinished } from "vitest";
import { tempFolder } from "../server/temp.ts";

/** A simulated provider; see provider.mjs. */
export type Provider = {
  url: string;
  /** How often each thing was made, by what its own log on the disk says. */
  made(): Map<string, number>;
};

export async function startProvider(): Promise<Provider> {
  const log = path.join(tempFolder("provider"), "log");
  const child = fork(path.resolve(import.meta.dirname, "provider.mjs"), [log]);
  onTestFinished(() => void child.kill("SIGKILL"));
  const [port] = (await once(child, "message")) as [number];
  return {
    url: `http://127.0.0.1:${port}`,
    made() {
      const counts = new Map<string, number>();
      const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n") : [];
      for (const id of lines) if (id !== "") counts.set(id, (counts.get(id) ?? 0) + 1);
      return counts;
    },
  };
}

/**
 * Body of a `reconcile` that makes the thing of its resource and generation, at `spec.url`. Where
 * `spec.seen` is not true, what was made can't be looked at.
 */
export const makeThing = `
  const id = resource.metadata.key + ":" + resource.metadata.generation;
  const url = resource.spec.url + "/things/" + id;
  await ctx.effects.ensure({
    key: "make:" + resource.metadata.generation,
    kind: "make-thing",
    request: { id },
    observe: async () => {
      if (!resource.spec.seen) return { state: "unknown", reason: "this provider shows nothing" };
      const { status } = await fetch(url);
      return { state: status === 200 ? "applied" : "absent" };
    },
    apply: async () => {
      const { status } = await fetch(url, { method: "POST" });
      if (status !== 200) throw new Error("answered " + status);
    },
  });
  return ctx.settled({ conditions: [{ type: "Ready", status: true, reason: "Made" }] });
`;
