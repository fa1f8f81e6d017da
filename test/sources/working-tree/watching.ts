import path from "node:path";
import { onTestFinished } from "vitest";
import { systemClock } from "../../../src/model/clock.ts";
import type { Scan } from "../../../src/sources/working-tree/scan.ts";
import {
  openWorkTree,
  type WorkTree,
  type WorkTreeOptions,
} from "../../../src/sources/working-tree/work-tree.ts";

/** A work tree that is watched, with every state that it settled in. */
export type Watching = {
  tree: WorkTree;
  states: Scan[];
  /** Resolves with the first state, of those so far and those to come, that is as asked. */
  until: (isIt: (scan: Scan) => boolean) => Promise<Scan>;
};

export const SPECS = ".pi/resources";

/** Watches `root`, closed when the test ends. Resolves when the first state settled. */
export async function watching(
  root: string,
  options: Partial<WorkTreeOptions> = {},
): Promise<Watching> {
  const states: Scan[] = [];
  const waiting = new Set<() => void>();
  const tree = openWorkTree(
    {
      project: root,
      roots: [SPECS],
      globalFolder: path.join(root, "global"),
      gitDir: undefined,
      clock: systemClock,
      ...options,
    },
    (scan) => {
      states.push(scan);
      for (const check of waiting) check();
    },
  );
  onTestFinished(() => tree.close());
  const until = (isIt: (scan: Scan) => boolean): Promise<Scan> =>
    new Promise((resolve) => {
      const check = () => {
        const found = states.find(isIt);
        if (found === undefined) return;
        waiting.delete(check);
        resolve(found);
      };
      waiting.add(check);
      check();
    });
  await until(() => true);
  return { tree, states, until };
}
