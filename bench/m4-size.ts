import { statSync } from "node:fs";
import path from "node:path";
import { check, megabytes } from "./harness.ts";
import type { Benchmark } from "./harness.ts";
import { applySpecs, startHost } from "./host.ts";
import { NOOP, makeProject } from "./project.ts";

/** M4: what a settled resource with one generation of history takes on disk, all told. */
export const m4: Benchmark = {
  name: "M4",
  what: "database size per settled resource",
  async run({ quick }) {
    const count = quick ? 1_000 : 10_000;
    const project = makeProject(NOOP, { concurrency: 4 });
    const host = await startHost(project, 4);
    await applySpecs(host, project, count);
    const { store } = await host.client.status();
    check(store.resources === count, "every resource is stored");
    await host.stop();
    const { size } = statSync(path.join(project.home, "state.sqlite"));
    return [
      {
        goal: "M4",
        what: "database size per settled resource of 1 KB, one generation",
        value: size / count / 1_000,
        unit: "KB",
        limit: { atMost: 3 },
        absolute: `${megabytes(size)} for ${count.toLocaleString("en")}`,
      },
    ];
  },
};
