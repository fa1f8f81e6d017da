import { apply } from "../apply/apply.ts";
import { makePlan } from "../apply/make-plan.ts";
import type { Target } from "../apply/target.ts";
import { canonicalJson, fingerprintText } from "../model/canonical.ts";
import { PiWorkflowsError, toPiWorkflowsError } from "../model/errors.ts";
import { manifestSchema, type Desired, type Manifest } from "../model/manifest.ts";
import type { ApplyReceipt } from "../model/plan.ts";
import type { ResourceManager } from "../resource-managers/define.ts";
import { formatPath } from "../sources/issue.ts";
import { prepareSchema } from "../sources/schema.ts";

export type HostedApply = {
  project: string;
  managers: readonly ResourceManager[];
  /** Names who owns the resources; only this owner changes them without force. */
  owner: string;
};

/**
 * Applies resources of managers handed over as objects: the same plan and the same batches as for
 * spec files, with `defineResource` values or manifests in place of files. Nothing is pruned.
 * @throws INVALID_SPECS with all that is wrong, CONFLICT
 */
export async function applyHosted(
  target: Target,
  { project, managers, owner }: HostedApply,
  resources: readonly Manifest[],
): Promise<ApplyReceipt> {
  const byName = new Map(managers.map((manager) => [manager.name, manager]));
  const desired: Desired[] = [];
  const problems: string[] = [];
  for (const resource of resources) {
    try {
      desired.push(await desiredOf(byName, resource));
    } catch (thrown) {
      const { message } = toPiWorkflowsError(thrown);
      problems.push(`${resource.resourceManager} ${resource.key}: ${message}`);
    }
  }
  if (problems.length > 0) {
    throw new PiWorkflowsError("INVALID_SPECS", problems.join("\n"), { details: { problems } });
  }
  const loaded = { desired, managers: [], problems: [], files: [] };
  const plan = await makePlan(target, loaded, { project, owner: { kind: "apply", name: owner } });
  return apply(plan, target, []);
}

async function desiredOf(
  managers: ReadonlyMap<string, ResourceManager>,
  resource: Manifest,
): Promise<Desired> {
  const manifest = manifestSchema.parse({ ...resource });
  const manager = managers.get(manifest.resourceManager);
  if (!manager) throw new Error("no such manager was handed to this server");
  const value = await checked(manager, manifest.spec);
  const spec = canonicalJson(value);
  const { resourceManager, key, labels = {}, dependsOn = [], prune, suspend } = manifest;
  return {
    resourceManager,
    key,
    spec,
    specHash: fingerprintText(spec),
    initialStatus: canonicalJson(manager.initialStatus(value)),
    labels,
    dependsOn,
    ...(prune === undefined ? {} : { prune }),
    ...(suspend === undefined ? {} : { suspend }),
    place: { file: "program", line: 1, column: 1 },
  };
}

async function checked(manager: ResourceManager, spec: unknown): Promise<unknown> {
  if (manager.spec === undefined) return spec;
  const result = await (await prepareSchema(manager.spec)).check(spec);
  if ("value" in result) return result.value;
  const issues = result.issues.map(({ path, message }) => {
    return `${formatPath(["spec", ...path])}: ${message}`;
  });
  throw new Error(issues.join("; "));
}
