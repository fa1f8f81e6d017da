import { describe, expect, it } from "vitest";
import { declared, EVERYTHING, loaded, OTHER_SET, problemIn, stored } from "./specs.ts";
import { plan, summary } from "./planning.ts";

describe("what a plan rejects", () => {
  it("A-3: leaves every resource of a file that failed to load as it is", () => {
    const file = "specs/all.resource.json";
    const place = { file, line: 1, column: 1 };
    const specs = loaded([declared("a", { size: 2 }, { place })], { problems: [problemIn(file)] });
    const made = plan(specs, [stored("a"), stored("b", undefined, { file })], {
      prune: EVERYTHING,
    });
    expect(summary(made)).toEqual([
      ["invalid", "a", `${file} has problems, so nothing of it is applied`],
      ["invalid", "b", `${file} has problems, so the last good spec stays in force`],
    ]);
  });

  it("A-3: does not take a resource out of a file that failed to load", () => {
    const specs = loaded([declared("a")], { problems: [problemIn("old.json")] });
    const [action] = plan(specs, [stored("a", undefined, { file: "old.json" })]).actions;
    expect(action?.kind).toBe("invalid");
    expect(action?.reasons).toEqual([
      "old.json, which declared it until now, has problems, so it can't be told which counts",
    ]);
  });

  it("A-7: rejects both of two manifests for one resource, naming both places", () => {
    const at = (file: string) => ({ place: { file, line: 3, column: 5 } });
    const specs = loaded([declared("a", 1, at("y.json")), declared("a", 1, at("x.json"))]);
    const made = plan(specs, [stored("a")], { prune: EVERYTHING });
    expect(summary(made)).toEqual([
      ["invalid", "a", "is declared more than once: x.json:3:5 and y.json:3:5"],
    ]);
    expect(made.problems.map(({ file, message }) => [file, message])).toEqual([
      ["x.json", "job a is also declared at y.json:3:5; declare it once"],
      ["y.json", "job a is also declared at x.json:3:5; declare it once"],
    ]);
    expect(made.prune.state).toBe("clear");
    expect(made.actions[0]?.current?.uid).toBe("uid-a");
  });

  it("rejects a dependency on what is neither declared nor stored", () => {
    const made = plan(loaded([declared("a", 1, { dependsOn: ["job/stored", "job/nobody"] })]), [
      stored("stored", undefined, { owner: OTHER_SET }),
    ]);
    expect(made.counts).toMatchObject({ invalid: 1, create: 0 });
    expect(made.problems).toMatchObject([
      {
        file: "specs/a.resource.json",
        path: "dependsOn[1]",
        message:
          'no resource "job/nobody" is declared or in the store; write MANAGER/KEY of one that is',
      },
    ]);
  });

  it("rejects a dependency on what would be pruned, which blocks the prune", () => {
    const specs = loaded([declared("a", 1, { dependsOn: ["job/leaving"] })]);
    const made = plan(specs, [stored("leaving")], { prune: EVERYTHING });
    expect(made.counts).toMatchObject({ invalid: 1, prune: 1 });
    expect(made.prune.state).toBe("blocked");
  });

  it("rejects every member of a circle, and what waits for one that does not exist", () => {
    const needs = (key: string, ...dependsOn: string[]) => declared(key, 1, { dependsOn });
    const made = plan(
      loaded([needs("a", "job/b"), needs("b", "job/a"), needs("c", "job/a"), needs("d", "job/d")]),
      [],
    );
    expect(summary(made)).toEqual([
      ["invalid", "a", "dependsOn: these depend on each other in a circle: job/a, job/b"],
      [
        "invalid",
        "b",
        "dependsOn: these depend on each other in a circle: job/a, job/b",
        expect.anything(),
      ],
      ["invalid", "c", "depends on job a, which is not valid and not in the store"],
      ["invalid", "d", "dependsOn: these depend on each other in a circle: job/d"],
    ]);
    expect(made.problems).toHaveLength(3);
  });

  it("A-3: is not held up by the problems of another set's file, nor by one of a new resource", () => {
    const specs = loaded([declared("a"), declared("new")], { problems: [problemIn("old.json")] });
    const theirs = stored("a", undefined, { file: "old.json", owner: OTHER_SET });
    expect(plan(specs, [theirs], { force: true }).actions.map(({ kind }) => kind)).toEqual([
      "update",
      "create",
    ]);
  });

  it("A-3: rejects what stands in a file that some other file makes fail", () => {
    const specFile = "specs/a.resource.json";
    const problems = [{ ...problemIn("lib/size.ts"), specFile }];
    const made = plan(loaded([declared("a"), declared("b")], { problems }), []);
    expect(made.actions.map(({ kind, key }) => [kind, key])).toEqual([
      ["invalid", "a"],
      ["create", "b"],
    ]);
  });

  it("rejects what depends on a resource that is declared twice, unless that is stored", () => {
    const specs = loaded([
      declared("a", 1, { dependsOn: ["job/b"] }),
      declared("b"),
      declared("b", 2),
    ]);
    expect(plan(specs, []).actions[0]).toMatchObject({
      kind: "invalid",
      key: "a",
      reasons: ["depends on job b, which is not valid and not in the store"],
    });
    expect(plan(specs, [stored("b")]).actions[0]?.kind).toBe("create");
  });

  it("A-2: lists problems by file, line, column, path and text, and duplicates by name", () => {
    const at = (place: string, path = "", message = "m") => {
      const [file = "", line, column] = place.split(":");
      return { file, line: Number(line), column: Number(column), path, message };
    };
    const problems = [
      at("a:1:1", "p", "a"),
      at("a:1:1", "p", "b"),
      at("a:1:1", "q", "a"),
      at("a:1:2"),
      at("a:2:1"),
      at("a:10:1"),
      at("b:1:1"),
    ];
    for (const given of [problems.toReversed(), [...problems.slice(3), ...problems.slice(0, 3)]]) {
      expect(plan(loaded([], { problems: given }), []).problems).toEqual(problems);
    }
    const place = (line: number) => ({ place: { file: "x", line, column: 1 } });
    const made = plan(
      loaded([
        declared("b", 1, place(9)),
        declared("a", 1, place(3)),
        declared("b", 1, place(4)),
        declared("a", 1, place(2)),
        declared("a", 1, place(1)),
      ]),
      [],
    );
    expect(made.actions.map(({ reasons }) => reasons[0])).toEqual([
      "is declared more than once: x:1:1 and x:2:1 and x:3:1",
      "is declared more than once: x:4:1 and x:9:1",
    ]);
  });
});
