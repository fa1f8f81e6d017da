import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: {
      "@osolmaz/pi-workflows/resource-managers": source("resource-managers/index.ts"),
      "@osolmaz/pi-workflows/server": source("server/index.ts"),
      "@osolmaz/pi-workflows/testing": source("testing/index.ts"),
      "@osolmaz/pi-workflows/workflows": source("workflows/index.ts"),
      // The last: an alias is for all that begins with it.
      "@osolmaz/pi-workflows": source("workflows/index.ts"),
    },
  },
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Tests start real processes of their own; more files at once only fight for the cores.
    maxWorkers: 2,
  },
});
