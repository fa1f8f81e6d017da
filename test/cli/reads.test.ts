import { beforeAll, describe, expect, it } from "vitest";
import { buildCommandLine, makeWorkspace, writeCounters } from "./command-line.ts";

beforeAll(buildCommandLine);

describe("commands that read", () => {
  const workspace = makeWorkspace();
  const { ok, json, run, home } = workspace;
  beforeAll(async () => {
    writeCounters(workspace, ["a", "b"]);
    workspace.write(
      "specs/never.resource.json",
      JSON.stringify({
        resourceManager: "counter",
        key: "never",
        suspend: true,
        spec: { value: 1 },
      }),
    );
    await ok(["apply", "-f", "specs"]);
    await ok(["wait", "counter", "a"]);
    await ok(["wait", "counter", "b"]);
    await ok(["server", "stop"]);
  });

  const reads = [
    ["get"],
    ["get", "-A"],
    ["get", "counter", "a"],
    ["describe", "counter", "a"],
    ["resource-managers"],
    ["resource-manager", "counter", "a"],
    ["effects"],
    ["events"],
    ["history", "counter", "a"],
    ["history", "counter", "a", "--diff"],
  ];

  it("read the same with a server running as without one, as one JSON document", async () => {
    const before = [];
    for (const read of reads) before.push(await json<unknown>(read));
    await ok(["server", "start"]);
    const beside = [];
    for (const read of reads) beside.push(await json<unknown>(read));
    await ok(["server", "stop"]);
    expect(beside).toEqual(before);
  });

  it("start no server", async () => {
    for (const read of reads) await ok(read);
    await ok(["why", "counter", "a"]);
    expect((await run(["server", "status"])).code).toBe(5);
  });

  it("get: --not-ready and a manager's name leave the others out", async () => {
    expect(await ok(["get", "--not-ready", "-o", "name"])).toBe("counter/never\n");
    expect(await ok(["get", "counter", "-o", "name"])).toBe(
      "counter/a\ncounter/b\ncounter/never\n",
    );
    const none = await run(["get", "nobody"]);
    expect(none).toMatchObject({ code: 0, stdout: "" });
    expect(none.stderr).toContain("There are no resources");
  });

  it("get -A adds the project; another folder has none of them", async () => {
    const elsewhere = { cwd: home };
    expect(await ok(["get", "-A"], elsewhere)).toContain(workspace.project);
    expect(await ok(["get"], elsewhere)).toBe("");
  });

  it("resource-managers lists resources with their readiness", async () => {
    expect(await ok(["resource-managers"])).toMatch(
      /^MANAGER {2}KEY {4}READY {4}STATUS {5}MESSAGE\ncounter {2}a {6}True {5}Counted {4}value is 1\n/,
    );
  });

  it("why: says that a suspended resource waits for resume", async () => {
    expect(await ok(["why", "counter", "never"])).toContain(
      "It is suspended: no pass begins until `pi-workflows resume counter never`.",
    );
    const { now } = await json<{ now: { state: string } }>(["why", "counter", "a"]);
    expect(now.state).toBe("settled");
  });

  it("events: --limit gives the latest, --for one resource", async () => {
    const { events } = await json<{ events: { sequence: number; key: string }[] }>(["events"]);
    const sequences = events.map(({ sequence }) => sequence);
    expect([...sequences].sort((x, y) => x - y)).toEqual(sequences);
    const latest = await json<{ events: unknown[] }>(["events", "--limit", "1"]);
    expect(latest.events).toEqual(events.slice(-1));
    const ofA = await json<{ events: { key: string }[] }>(["events", "--for", "counter/a"]);
    expect(new Set(ofA.events.map(({ key }) => key))).toEqual(new Set(["a"]));
  });

  it("describe and resource-manager print the same", async () => {
    const [described, printed] = [
      await json<unknown>(["describe", "counter", "a"]),
      await json<unknown>(["resource-manager", "counter", "a"]),
    ];
    expect(printed).toEqual(described);
    const text = await ok(["describe", "counter", "a"]);
    for (const section of [
      "Spec",
      "Status",
      "Conditions",
      "Effects",
      "Child runs",
      "Passes",
      "Events",
    ]) {
      expect(text).toMatch(new RegExp(`^${section}$`, "m"));
    }
  });

  it("get | head: a reader that has seen enough is no error", async () => {
    const outcome = await run(["events"], { onOutput: (_text, child) => child.stdout?.destroy() });
    expect(outcome.stderr).toBe("");
  });
});

describe("commands that follow", () => {
  const workspace = makeWorkspace();
  const { ok, run } = workspace;
  beforeAll(async () => {
    writeCounters(workspace, ["a", "b"]);
    await ok(["apply", "-f", "specs", "--wait"]);
  });

  it("get -w prints what there is, then each change, until Ctrl-C", async () => {
    let deleted = false;
    const watched = await run(["get", "-w"], {
      onOutput(text, child) {
        if (text.includes("counter  b") && !deleted) {
          deleted = true;
          void run(["delete", "counter", "b", "--yes"]);
        }
        if (text.includes("removed")) child.kill("SIGINT");
      },
    });
    expect(watched.code).toBe(130);
    expect(watched.stdout).toMatch(/^MANAGER .*\ncounter {2}a .*\ncounter {2}b .*\n/);
    expect(watched.stdout).toMatch(/counter {2}b .* removed\n$/);
  });

  it("events -f prints what happens, one JSON line each with -o json", async () => {
    let asked = false;
    const { stdout } = await run(["events", "-f", "-o", "json"], {
      onOutput(text, child) {
        if (!asked) {
          asked = true;
          void run(["apply", "counter", "new", '{"value": 1}']);
        }
        if (/"key":"new"/.test(text)) child.kill("SIGINT");
      },
    });
    const events = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as { key: string });
    expect(events.some(({ key }) => key === "new")).toBe(true);
  });

  it("server logs prints the latest lines", async () => {
    expect(await ok(["server", "logs", "-n", "1000"])).toContain("The server serves");
    expect((await ok(["server", "logs", "-n", "1"])).trim().split("\n")).toHaveLength(1);
  });
});
