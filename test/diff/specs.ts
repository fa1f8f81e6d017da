import { canonicalJson, fingerprint, fingerprintText } from "../../src/model/canonical.ts";
import type { ManagerProposal, SnapshotEntry } from "../../src/model/batch.ts";
import type { Desired, LoadedSpecs, Problem } from "../../src/model/manifest.ts";
import type { Owner } from "../../src/model/resource.ts";
import type { PruneRequest } from "../../src/diff/guard.ts";
import type { PlanRequest } from "../../src/diff/plan.ts";

export const PROJECT = "/project";
export const SET: Owner = { kind: "apply", name: "main" };
export const OTHER_SET: Owner = { kind: "sync", name: "main" };
export const EVERYTHING: PruneRequest = { covers: () => true };

/** A declaration of `job KEY`, each part replaceable. */
export function declared(
  key: string,
  spec: unknown = { size: 1 },
  more: Partial<Desired> = {},
): Desired {
  const text = canonicalJson(spec);
  return {
    resourceManager: "job",
    key,
    spec: text,
    specHash: fingerprintText(text),
    initialStatus: "{}",
    labels: {},
    dependsOn: [],
    place: { file: `specs/${key}.resource.json`, line: 1, column: 1 },
    ...more,
  };
}

/** What is stored after `declared` with the same arguments was applied. */
export function stored(
  key: string,
  spec: unknown = { size: 1 },
  more: Partial<SnapshotEntry> = {},
): SnapshotEntry {
  return {
    uid: `uid-${key}`,
    manager: "job",
    key,
    resourceVersion: 7,
    generation: 1,
    specHash: fingerprint(spec),
    labels: {},
    dependsOn: [],
    owner: SET,
    file: `specs/${key}.resource.json`,
    prunable: true,
    suspended: false,
    deleting: false,
    ...more,
  };
}

export function loaded(desired: Desired[], more: Partial<LoadedSpecs> = {}): LoadedSpecs {
  const files = [...new Set(desired.map(({ place }) => place.file))];
  return {
    desired,
    managers: [],
    problems: [],
    files: files.map((file) => ({ file, sha256: fingerprint(file) })),
    ...more,
  };
}

export function problemIn(file: string, message = "is not JSON"): Problem {
  return { file, line: 1, column: 1, path: "", message };
}

export function request(more: Partial<PlanRequest> = {}): PlanRequest {
  return { project: PROJECT, owner: SET, ...more };
}

/** A definition as a client proposes it. */
export function manager(name = "job", secretPaths: string[] = []): ManagerProposal {
  return {
    name,
    path: `${PROJECT}/.pi/resource-managers/${name}.resource-manager.ts`,
    scope: "project",
    digest: fingerprint(name),
    inputs: [],
    secretPaths,
    sources: [],
    deadlineMs: 60_000,
    maxConcurrent: 1,
    bundle: "export default {}",
  };
}
