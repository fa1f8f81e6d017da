import { mkdir, rmdir, stat } from "node:fs/promises";
import {
  conditionTrue,
  defineResourceManager,
  every,
} from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";

export default defineResourceManager({
  name: "folder",
  spec: z.strictObject({ path: z.string().startsWith("/") }),
  initialStatus: () => ({ seen: 0 }),
  sources: [every("5m")],

  async reconcile(ctx, resource) {
    const { path } = resource.spec;

    if (resource.metadata.deletionTimestamp) {
      // Only while it is empty: what others put into it is not ours to delete.
      await rmdir(path).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
      await ctx.finalizers.remove("folder/remove");
      return ctx.settled();
    }

    await ctx.finalizers.add("folder/remove");
    const there = await stat(path).catch(() => undefined);
    if (!there) await mkdir(path, { recursive: true });

    return ctx.settled({
      resourceManagerStatus: { seen: resource.status.resourceManagerStatus.seen + 1 },
      conditions: [conditionTrue("Ready", there ? "Present" : "Created")],
    });
  },
});
