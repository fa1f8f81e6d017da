import { beforeAll, expect, it } from "vitest";
import { buildCommandLine, makeWorkspace } from "./command-line.ts";

beforeAll(buildCommandLine);

const MANAGER = `
import { conditionTrue, defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
export default defineResourceManager({
  name: "shop",
  spec: z.strictObject({
    open: z.string().transform((text) => text.split("-").map(Number)),
    size: z.coerce.number().default(3),
  }),
  initialStatus: () => ({}),
  reconcile: (ctx, { spec }) =>
    ctx.settled({ conditions: [conditionTrue("Ready", "Open", JSON.stringify(spec))] }),
});
`;

const workspace = makeWorkspace();

it("A-1: a schema that transforms and completes a spec is stored as it makes it, and stays unchanged", async () => {
  workspace.write(".pi/resource-managers/shop.resource-manager.ts", MANAGER);
  workspace.write(
    "specs/a.resource.json",
    JSON.stringify({ resourceManager: "shop", key: "a", spec: { open: "9-17" } }),
  );
  await workspace.ok(["apply", "-f", "specs", "--wait"]);
  expect(await workspace.ok(["get", "-o", "wide"])).toContain('{"open":[9,17],"size":3}');
  expect(await workspace.ok(["diff", "-f", "specs"])).toContain("1 unchanged");
});
