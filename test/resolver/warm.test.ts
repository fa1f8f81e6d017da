import { readdirSync, readFileSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { describe, expect, it, onTestFinished } from "vitest";
import { openWarmResolver } from "../../src/runner/warm-resolver.ts";
import { NOTE_DEFINITION, NOTE_FILE, tempProject } from "../sources/temp-project.ts";
import "./loading.ts";

/** Processes that this one started and that are still there. */
function children(): number[] {
  return readdirSync("/proc/self/task").flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, "utf8").split(" ").filter(Boolean).map(Number),
  );
}

async function until(isIt: () => boolean): Promise<void> {
  while (!isIt()) await setImmediate();
}

function open() {
  const make = () =>
    tempProject({
      [NOTE_FILE]: NOTE_DEFINITION,
      "a.resource.json": JSON.stringify({
        resourceManager: "note",
        key: "a",
        spec: { title: "x" },
      }),
    });
  const resolver = openWarmResolver();
  onTestFinished(() => resolver.close());
  return {
    resolver,
    make,
    load: (project: ReturnType<typeof make>) =>
      resolver.resolve({
        project: project.root,
        files: [project.path("a.resource.json")],
        globalFolder: project.path("global"),
      }),
  };
}

describe.skipIf(process.platform !== "linux")("A resolver that is told ahead", () => {
  it("loads the same, in the child that waited, which ends as always", async () => {
    const { resolver, make, load } = open();
    const project = make();
    const cold = await load(project);
    expect(cold.desired).toHaveLength(1);
    resolver.prepare(project.root);
    const [waiting] = children();
    resolver.prepare(project.root);
    expect(children()).toEqual([waiting]);
    const loading = load(project);
    expect(children()).toEqual([waiting]);
    expect(await loading).toEqual(cold);
    await until(() => children().length === 0);
  });

  it("keeps one child at most, for the latest project, and none in the end", async () => {
    const { resolver, make, load } = open();
    const [first, second] = [make(), make()];
    resolver.prepare(first.root);
    resolver.prepare(second.root);
    await until(() => children().length === 1);
    expect((await load(first)).desired).toHaveLength(1);
    resolver.close();
    await until(() => children().length === 0);
  });

  it("loads where the child died while it waited", async () => {
    const { resolver, make, load } = open();
    const project = make();
    resolver.prepare(project.root);
    process.kill(children()[0] as number, "SIGKILL");
    const found = await load(project);
    expect(found.desired).toHaveLength(1);
  });
});
