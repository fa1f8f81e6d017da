import type { Target } from "../../apply/target.ts";
import { PiWorkflowsError } from "../../model/errors.ts";
import { formatProblem } from "../../model/manifest.ts";
import { describeRef, type ResourceRef, type StoredResource } from "../../model/resource.ts";
import type { WarmResolver } from "../../runner/warm-resolver.ts";
import type { StoreReader } from "../../store/store.ts";
import type { Source } from "./source.ts";

/** What bringing back a resource needs. */
export type UndeleteServices = {
  store: StoreReader;
  target: Target;
  resolver: Pick<WarmResolver, "resolve">;
  globalFolder: string;
};

/** What a removed resource's spec is called in problems. */
const NAME = "<history>";

/**
 * Brings a removed resource back with its last spec, as a new uid with its owner, labels and
 * dependencies. It comes back protected, so that a sync whose source no longer has it does not
 * delete it again; a manifest that declares it later takes it over as it is.
 * @throws NOT_FOUND, CONFLICT where it is there, INVALID_SPECS where the spec is no longer valid
 */
export async function undelete(
  { store, target, resolver, globalFolder }: UndeleteServices,
  ref: ResourceRef,
  reading: ReturnType<Source["reading"]>,
): Promise<StoredResource> {
  const { project, resourceManager, key } = ref;
  const name = describeRef(ref);
  const live = await store.get(ref);
  if (live) throw stillThere(name, live);
  const removed = await store.removed(ref);
  if (!removed) throw notKept(name);
  const { resource, labels, dependsOn, owner, origin } = removed;
  const manifest = { resourceManager, key, spec: resource.spec, labels, dependsOn };
  const loaded = await resolver.resolve({
    project,
    files: [],
    inline: [{ name: NAME, text: JSON.stringify(manifest) }],
    globalFolder,
    ...reading,
  });
  const [desired] = loaded.desired;
  if (!desired || loaded.problems.length > 0) {
    const places = loaded.problems.map(formatProblem).join("\n  ");
    throw new PiWorkflowsError(
      "INVALID_SPECS",
      `the last spec of ${name} is not valid any more:\n  ${places}`,
      // Without the lines around each place: they are the spec, which may hold secrets.
      { details: { problems: loaded.problems.map(({ frame: _frame, ...rest }) => rest) } },
    );
  }
  await target.acceptManagers(project, loaded.managers);
  const { spec, specHash, initialStatus } = desired;
  const from = origin.file === undefined ? {} : { file: origin.file };
  await target.commit({
    project,
    changes: [
      {
        kind: "create",
        manager: resourceManager,
        key,
        expected: 0,
        write: {
          spec,
          specHash,
          initialStatus,
          labels,
          dependsOn,
          prunable: false,
          suspended: removed.suspended,
          origin: { owner, ...from, command: `undelete ${resourceManager} ${key}` },
        },
      },
    ],
  });
  return (await store.get(ref)) as StoredResource;
}

function stillThere(name: string, { resource }: StoredResource): PiWorkflowsError {
  return resource.metadata.deletionTimestamp === undefined
    ? new PiWorkflowsError("CONFLICT", `${name} is not deleted`, {
        hint: "There is nothing to do.",
      })
    : new PiWorkflowsError("DELETING", `${name} is still being deleted`);
}

function notKept(name: string): PiWorkflowsError {
  return new PiWorkflowsError("NOT_FOUND", `history keeps no ${name} that was deleted`, {
    hint: "A removed resource is kept for 30 days. Declare it again in a spec file.",
  });
}
