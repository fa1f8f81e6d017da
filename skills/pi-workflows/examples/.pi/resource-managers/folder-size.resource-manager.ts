import { readdir, stat } from "node:fs/promises";
import path from "node:path";
import {
  conditionFalse,
  conditionTrue,
  defineResourceManager,
  every,
  TerminalError,
} from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";

/** Watches that a folder stays below a size; a person must tidy it where it does not. */
export default defineResourceManager({
  name: "folder-size",
  spec: z.strictObject({
    folder: z.string().min(1).describe("Relative to the project"),
    maxBytes: z.int().positive(),
  }),
  initialStatus: () => ({ bytes: 0 }),
  sources: [every("10m")],

  async reconcile(ctx, resource) {
    const { folder, maxBytes } = resource.spec;
    const bytes = await sizeOf(path.resolve(ctx.project, folder));
    if (bytes === undefined) throw new TerminalError(`there is no folder ${folder}`);
    const message = `${bytes} of ${maxBytes} bytes`;
    const fits = bytes <= maxBytes;
    return ctx.settled({
      resourceManagerStatus: { bytes },
      conditions: fits
        ? [conditionTrue("Ready", "Fits", message), conditionFalse("Blocked", "Fits")]
        : [
            conditionFalse("Ready", "TooLarge", message),
            conditionTrue("Blocked", "TooLarge", message),
          ],
    });
  },
});

async function sizeOf(folder: string): Promise<number | undefined> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => undefined);
  if (entries === undefined) return undefined;
  const sizes = entries
    .filter((entry) => entry.isFile())
    .map(async ({ name }) => (await stat(path.join(folder, name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
