import { canonicalJson, type Json } from "../model/canonical.ts";
import type { ResourceRef, StoredResource } from "../model/resource.ts";
import { maskSecrets, maskSecretsIn } from "../model/secret-text.ts";
import { maskValue, Masks } from "../diff/mask.ts";
import { secretValues } from "../diff/secret-values.ts";
import type { EffectListing, StoreReader } from "../store/store.ts";
import { findManager } from "./find.ts";

/**
 * A whole resource with the secret fields of its spec, their values wherever its manager's status
 * repeats them, and what looks like a credential, masked.
 */
export async function presentable(
  reader: StoreReader,
  stored: StoredResource,
  showSecrets: boolean,
): Promise<StoredResource> {
  if (showSecrets) return stored;
  const { metadata, status } = stored.resource;
  const ref = { ...metadata, project: stored.project };
  const paths = (await findManager(reader, ref))?.secretPaths ?? [];
  const spec = maskValue(stored.resource.spec as Json, paths);
  const secrets = await secretsOf(reader, ref, paths);
  const unsaid = maskSecretsIn(status.resourceManagerStatus, secrets) as Json;
  const resourceManagerStatus = maskValue(unsaid, []);
  return {
    ...stored,
    resource: { metadata, spec, status: { ...status, resourceManagerStatus } },
  };
}

/** A function that masks the secret fields of one manager's specs; equal values get equal masks. */
export async function maskOf(
  reader: StoreReader,
  ref: { project: string; resourceManager: string },
): Promise<(spec: Json) => Json> {
  const paths = (await findManager(reader, ref))?.secretPaths ?? [];
  const masks = new Masks();
  return (spec) => maskValue(spec, paths, masks);
}

/**
 * Effects with the secret values of their resources masked, where they repeat them. In the store they
 * are true, since a manager gets them back.
 */
export async function presentableEffects(
  reader: StoreReader,
  effects: readonly EffectListing[],
): Promise<EffectListing[]> {
  const known = new Map<string, readonly string[]>();
  const managers = await reader.managers();
  const pathsOf = ({ project, resourceManager }: ResourceRef): readonly string[] =>
    managers.find((one) => one.project === project && one.name === resourceManager)?.secretPaths ??
    [];
  const shown: EffectListing[] = [];
  for (const effect of effects) {
    const { project, resourceManager, resourceKey: key } = effect;
    const ref = { project, resourceManager, key };
    const name = canonicalJson(ref);
    const secrets = known.get(name) ?? (await secretsOf(reader, ref, pathsOf(ref)));
    known.set(name, secrets);
    shown.push(maskEffect(effect, secrets));
  }
  return shown;
}

function maskEffect(effect: EffectListing, secrets: readonly string[]): EffectListing {
  const { externalRef, reason, result } = effect;
  return {
    ...effect,
    request: maskSecretsIn(effect.request, secrets) as Json,
    ...(externalRef === undefined ? {} : { externalRef: maskSecrets(externalRef, secrets) }),
    ...(reason === undefined ? {} : { reason: maskSecrets(reason, secrets) }),
    ...(result === undefined ? {} : { result: maskSecretsIn(result, secrets) as Json }),
  };
}

/** Secret values of a resource's specs, also of earlier ones, longest first. */
async function secretsOf(
  reader: StoreReader,
  ref: ResourceRef,
  secretPaths: readonly string[],
): Promise<string[]> {
  if (secretPaths.length === 0) return [];
  const history = await reader.history(ref);
  const found = history.flatMap(({ spec }) => secretValues(spec, secretPaths));
  return [...new Set(found)].sort((a, b) => b.length - a.length);
}
