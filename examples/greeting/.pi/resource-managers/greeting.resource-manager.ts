import { readFile, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import {
  conditionTrue,
  defineResourceManager,
  every,
} from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";

const CLEAN_UP = "greeting/remove-file";

/** Keeps a text file equal to what its spec says. */
export default defineResourceManager({
  name: "greeting",
  spec: z.strictObject({
    file: z.string().min(1).describe("The file to keep, relative to the project"),
    text: z.string().describe("What it holds"),
  }),
  initialStatus: () => ({ writes: 0 }),
  sources: [every("1m")],

  async reconcile(ctx, resource) {
    const file = path.resolve(ctx.project, resource.spec.file);
    const wanted = `${resource.spec.text}\n`;
    const { writes } = resource.status.resourceManagerStatus;

    if (resource.metadata.deletionTimestamp) {
      await rm(file, { force: true });
      await ctx.finalizers.remove(CLEAN_UP);
      return ctx.settled();
    }

    // Durable before there is anything to clean up.
    await ctx.finalizers.add(CLEAN_UP);

    // Recorded before it happens, and looked for before it is repeated. First of all in every pass,
    // so that a call whose outcome a crash lost is looked at again; one that was made is not repeated.
    await ctx.effects.ensure({
      key: `write:${resource.metadata.generation}:${writes}`,
      kind: "write-file",
      request: { file, text: wanted },
      observe: async () =>
        (await contentOf(file)) === wanted ? { state: "applied" } : { state: "absent" },
      apply: async () => {
        await writeFile(`${file}.new`, wanted);
        await rename(`${file}.new`, file);
      },
    });

    // Somebody else changed it since: a new effect, by its new key.
    if ((await contentOf(file)) !== wanted) {
      return ctx.requeue({ resourceManagerStatus: { writes: writes + 1 } });
    }
    return ctx.settled({
      conditions: [conditionTrue("Ready", "Written", `${resource.spec.file} says what it should`)],
    });
  },
});

async function contentOf(file: string): Promise<string | undefined> {
  return readFile(file, "utf8").catch(() => undefined);
}
