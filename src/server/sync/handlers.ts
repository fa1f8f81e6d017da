import type { StoreReader } from "../../store/store.ts";
import type { Handlers, SyncRoute } from "../handlers.ts";
import type { Syncs } from "./sets.ts";

/** One function per route of sync. */
export function syncHandlers(syncs: Syncs, store: StoreReader): Pick<Handlers, SyncRoute> {
  return {
    syncEnable: (request) => syncs.enable(request),
    syncDisable: async ({ project }) => ({ disabled: await syncs.disable(project) }),
    syncStatus: ({ project }) => Promise.resolve(syncs.status(project)),
    syncNow: async ({ project, allowEmpty }) => syncs.now(project, allowEmpty === true),
    syncSuspend: ({ project, suspended }) => syncs.suspend(project, suspended),
    syncConfirmPrune: async ({ project, hash }) => syncs.confirmPrune(project, hash),
    prunes: ({ project }) => store.prunes(project),
    undelete: (ref) => syncs.undelete(ref),
  };
}

/** Routes by which clients change resources, telling the syncs of it. */
export function watchedBySyncs(
  { commit, delete: remove }: Pick<Handlers, "commit" | "delete">,
  syncs: Pick<Syncs, "wrote">,
): Pick<Handlers, "commit" | "delete"> {
  return {
    commit: async (batch) => {
      const receipt = await commit(batch);
      syncs.wrote(batch.project);
      return receipt;
    },
    delete: async (request) => {
      const receipt = await remove(request);
      syncs.wrote(request.ref.project);
      return receipt;
    },
  };
}
