import { PiWorkflowsError } from "../../model/errors.ts";
import type { SyncSet } from "../../model/sync.ts";
import type { Source } from "./source.ts";

/** The files of the work tree as they are saved. Not there yet: it says so and applies nothing. */
export function workingTreeSource({ project }: SyncSet, _onHint: () => void): Source {
  const message = `syncing the work tree of ${project} is not supported yet; sync a branch`;
  const refuse = (): never => {
    throw new PiWorkflowsError("UNSUPPORTED", message);
  };
  return {
    look: () => Promise.resolve({ trouble: { reason: "Unsupported", message } }),
    list: () => Promise.reject(new PiWorkflowsError("UNSUPPORTED", message)),
    reading: refuse,
    originOf: refuse,
    removals: () => Promise.resolve(new Map()),
    deaf: undefined,
    close: () => Promise.resolve(),
  };
}
