import type { Json } from "../model/canonical.ts";
import type { StoredResource } from "../model/resource.ts";
import { maskValue, Masks } from "../diff/mask.ts";
import type { StoreReader } from "../store/store.ts";
import { findManager } from "./find.ts";

/** A whole resource with the secret fields of its spec, and what looks like a credential, masked. */
export async function presentable(
  reader: StoreReader,
  stored: StoredResource,
  showSecrets: boolean,
): Promise<StoredResource> {
  if (showSecrets) return stored;
  const { metadata, status } = stored.resource;
  const mask = await maskOf(reader, { ...metadata, project: stored.project });
  const spec = mask(stored.resource.spec as Json);
  const resourceManagerStatus = maskValue(status.resourceManagerStatus as Json, []);
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
