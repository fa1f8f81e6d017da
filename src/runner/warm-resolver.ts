import type { ChildProcess } from "node:child_process";
import type { Socket } from "node:net";
import { LIMITS } from "../model/limits.ts";
import { killGroup, startResolver } from "./resolver-process.ts";
import { resolve, type Resolution, type ResolveRequest } from "./resolver.ts";

/** Resolves like `resolve`, sooner where it was told ahead. */
export type WarmResolver = {
  /**
   * A load of this project is likely soon: its child starts now (100 ms of a core), while the caller
   * still waits or looks for files. Unused, it ends by itself.
   */
  prepare(project: string): void;
  resolve: (request: ResolveRequest) => Promise<Resolution>;
  /** Ends the child that waits, if any. */
  close(): void;
};

/** Milliseconds that a child waits for its load. */
const WAIT_MS = 10_000;

type Spare = { project: string; child: ChildProcess; timer: NodeJS.Timeout };

/** Holds at most one child. */
export function openWarmResolver(): WarmResolver {
  let spare: Spare | undefined;
  const take = (): Spare | undefined => {
    const taken = spare;
    spare = undefined;
    clearTimeout(taken?.timer);
    return taken;
  };
  const close = (): void => {
    const taken = take();
    if (taken) killGroup(taken.child);
  };
  const start = (project: string): void => {
    const child = startResolver(project, LIMITS);
    const forget = (): void => {
      if (spare?.child === child) take();
    };
    child.once("error", forget);
    child.once("exit", forget);
    // Whoever waits for nothing but this may end.
    setRef(child, false);
    spare = { project, child, timer: setTimeout(close, WAIT_MS).unref() };
  };
  return {
    prepare(project) {
      if (spare?.project === project) return;
      close();
      start(project);
    },
    resolve(request) {
      if (spare?.project !== request.project) return resolve(request);
      const { child } = take() as Spare;
      setRef(child, true);
      return resolve(request, LIMITS, child);
    },
    close,
  };
}

/** Whether this process stays alive for the child and what it may say. */
function setRef(child: ChildProcess, isRef: boolean): void {
  const change = isRef ? "ref" : "unref";
  child[change]();
  for (const pipe of child.stdio) (pipe as Socket | null)?.[change]?.();
}
