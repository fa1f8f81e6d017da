import { COUNTER } from "../../cli/command-line.ts";
import type { Person } from "../../pi/support/rpc.ts";
import type { Stage } from "./stage.ts";

/** Writes a manager that is ready at once, and one spec file of it with a secret. */
export function writeCounter(stage: Stage, key: string, value: number): void {
  stage.write(".pi/resource-managers/counter.resource-manager.ts", COUNTER);
  const manifest = { resourceManager: "counter", key, spec: { value, secret: SECRET } };
  stage.write(`specs/${key}.resource.json`, JSON.stringify(manifest));
}

/** What nobody may be shown. */
export const SECRET = "s3cret-of-mine";

/** Writes a manager whose resources are ready when they are looked at and a file of their key is there. */
export function writeGate(stage: Stage): void {
  stage.write(".pi/resource-managers/gate.resource-manager.ts", GATE);
}

const GATE = `
import { existsSync } from "node:fs";
import path from "node:path";
import { conditionFalse, conditionTrue, defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
export default defineResourceManager({
  name: "gate",
  spec: z.strictObject({ folder: z.string(), blocked: z.boolean().default(false) }),
  initialStatus: () => ({}),
  async reconcile(ctx, { spec, metadata }) {
    if (existsSync(path.join(spec.folder, metadata.key))) {
      return ctx.settled({ conditions: [conditionTrue("Ready", "Opened")] });
    }
    const conditions = [conditionFalse("Ready", "Shut", "its file is not there")];
    return spec.blocked ? ctx.settled({ conditions }) : ctx.requeueAfter(3_600_000, { conditions });
  },
});
`;

/** Confirms or declines, in this order, and then nothing more. */
export function decides(...answers: boolean[]): Person {
  return ({ method }) =>
    method === "confirm" ? { confirmed: answers.shift() === true } : undefined;
}
