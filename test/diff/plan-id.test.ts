import { describe, expect, it } from "vitest";
import { differing } from "../../src/diff/plan.ts";
import type { PlanRequest } from "../../src/diff/plan.ts";
import type { SnapshotEntry } from "../../src/model/batch.ts";
import type { Desired, LoadedSpecs, Problem } from "../../src/model/manifest.ts";
import {
  declared,
  EVERYTHING,
  loaded,
  manager,
  OTHER_SET,
  problemIn,
  SET,
  stored,
} from "./specs.ts";
import { plan } from "./planning.ts";

const specs = (desired: Partial<Desired> = {}, more: Partial<LoadedSpecs> = {}) =>
  loaded([declared("a", 2, desired), declared("b")], more);
const rows = (entry: Partial<SnapshotEntry> = {}) => [stored("a", 1, entry), stored("c")];

/** The id of a plan that updates a, creates b and prunes c, with something in it replaced. */
function idOf({
  loaded: given = specs(),
  resources = rows(),
  ...more
}: Partial<PlanRequest> & { loaded?: LoadedSpecs; resources?: SnapshotEntry[] }): string {
  const uids = differing(given.desired, { revision: 1, resources });
  const bodies = new Map(uids.map((uid) => [uid, "1"]));
  return plan(given, resources, { prune: EVERYTHING, ...more }, bodies).id;
}

describe("the id of a plan", () => {
  it("A-2, A-9: does not depend on the order of files, definitions, rows and labels", () => {
    const managers = [manager("job"), manager("task")];
    const labels = { x: "1", y: "2" };
    const turned = { y: "2", x: "1" };
    const one = specs({ labels }, { managers });
    const id = idOf({ loaded: one, resources: rows({ labels: { p: "1", q: "2" } }) });
    const other = specs({ labels: turned }, { managers: managers.toReversed() });
    other.desired.reverse();
    other.files.reverse();
    const resources = rows({ labels: { q: "2", p: "1" } }).toReversed();
    expect(idOf({ loaded: other, resources })).toBe(id);
  });

  it("A-1: does not change when a pass writes a status, so that an approved plan can be applied", () => {
    const later = [stored("a", 1, { resourceVersion: 8 }), stored("c")];
    expect(idOf({ resources: later })).toBe(idOf({}));
  });

  it.each<[string, Parameters<typeof idOf>[0]]>([
    ["the project", { project: "/other" }],
    ["the owner", { resources: [], owner: OTHER_SET }],
    ["the owner's name", { resources: [], owner: { ...SET, name: "other" } }],
    ["what is pruned", { prune: { covers: () => false } }],
    ["a file's content", { loaded: specs({}, { files: [{ file: "a", sha256: "x" }] }) }],
    ["a definition", { loaded: specs({}, { managers: [manager()] }) }],
  ])("changes with %s", (_, other) => {
    const before = "resources" in other ? idOf({ resources: [] }) : idOf({});
    expect(idOf(other)).not.toBe(before);
  });

  it("changes with whether the prune is held", () => {
    const guard = { count: 0, fraction: 0 };
    expect(idOf({ prune: { ...EVERYTHING, guard } })).not.toBe(idOf({}));
  });

  it.each<Partial<SnapshotEntry>>([
    { uid: "uid-of-another" },
    { generation: 2 },
    { labels: { team: "web" } },
    { prunable: false },
    { suspended: true },
    { dependsOn: ["job/c"] },
    { file: "elsewhere.json" },
    { owner: OTHER_SET },
    { deleting: true },
  ])("changes with what is stored: %j", (entry) => {
    expect(idOf({ resources: rows(entry) })).not.toBe(idOf({}));
  });

  it("changes with the name and kind of an owner that is in the way", () => {
    const owners = [
      { kind: "sync", name: "main" },
      { kind: "sync", name: "other" },
      { kind: "person", name: "main" },
    ] as const;
    const ids = owners.map((owner) => idOf({ resources: rows({ owner }) }));
    expect(new Set(ids).size).toBe(3);
  });

  it.each<Partial<Desired>>([
    { specHash: "other" },
    { labels: { team: "web" } },
    { labels: { team: "app" } },
    { dependsOn: ["job/b"] },
    { prune: false },
    { suspend: true },
    { place: { file: "elsewhere.json", line: 1, column: 1 } },
  ])("changes with what is declared: %j", (desired) => {
    const files = specs().files;
    expect(idOf({ loaded: specs(desired, { files }) })).not.toBe(idOf({}));
    const labels = { team: "api" };
    expect(idOf({ loaded: specs(desired, { files }) })).not.toBe(
      idOf({ loaded: specs({ labels }, { files }) }),
    );
  });

  it("changes with each part of a problem", () => {
    const problem = problemIn("bad.json");
    const others: Partial<Problem>[] = [
      {},
      { file: "worse.json" },
      { line: 2 },
      { column: 2 },
      { path: "key" },
      { message: "is too long" },
    ];
    const ids = others.map((other) =>
      idOf({ loaded: specs({}, { problems: [{ ...problem, ...other }] }) }),
    );
    expect(new Set(ids).size).toBe(others.length);
  });

  it("does not change with what an unchanged resource would be written as", () => {
    const place = { file: "specs/a.resource.json", line: 9, column: 1 };
    const one = plan(loaded([declared("a")]), [stored("a")]);
    expect(plan(loaded([declared("a", undefined, { place })]), [stored("a")]).id).toBe(one.id);
  });
});
