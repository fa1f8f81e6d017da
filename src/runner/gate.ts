import { PiWorkflowsError } from "../model/errors.ts";

/** What stands between an author's code and the host: it counts what passes, and can be closed. */
export type Gate = {
  /** Lets one operation through. @throws PiWorkflowsError LEASE_LOST once closed. */
  pass: <T>(operation: () => Promise<T>) => Promise<T>;
  /** @throws PiWorkflowsError LEASE_LOST once closed. */
  check: () => void;
  isOpen: () => boolean;
  /** Resolves when no operation is under way. */
  quiet: () => Promise<void>;
  close: () => void;
};

/** Opens the gate of one pass. */
export function createGate(reconcileId: string): Gate {
  const underWay = new Set<Promise<unknown>>();
  let open = true;

  const check = (): void => {
    if (open) return;
    throw new PiWorkflowsError("LEASE_LOST", `pass ${reconcileId} is over`, {
      hint: "Await everything that is asked of ctx before reconcile returns.",
    });
  };
  return {
    check,
    isOpen: () => open,
    close: () => {
      open = false;
    },
    async pass(operation) {
      check();
      const running = operation();
      underWay.add(running);
      try {
        return await running;
      } finally {
        underWay.delete(running);
      }
    },
    async quiet() {
      while (underWay.size > 0) await Promise.allSettled(underWay);
    },
  };
}
