import { toPiWorkflowsError, type PiWorkflowsError } from "../model/errors.ts";
import type { Changes, Touched } from "./changes.ts";

/** Does one write of a pass; `late` where it still counts when the pass is someone else's (E-10). */
export type Guarded = <T>(write: () => Promise<T>, late?: boolean) => Promise<T>;

/**
 * The way of a pass's writes to the store. Once one was refused the pass belongs to someone else: it
 * is told to stop, and what it still asks for is refused without asking the store (F-4).
 */
export function createGuard(
  changes: Changes,
  touched: readonly Touched[],
  onLost: () => void,
): Guarded {
  let lost: PiWorkflowsError | undefined;
  return async (write, late = false) => {
    if (lost && !late) throw lost;
    try {
      const result = await write();
      changes.touch(touched);
      return result;
    } catch (thrown) {
      const error = toPiWorkflowsError(thrown);
      if (error.code === "LEASE_LOST") {
        lost = error;
        onLost();
      }
      throw error;
    }
  };
}
