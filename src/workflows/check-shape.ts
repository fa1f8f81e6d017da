import type { Fork, Way, Ways } from "./check-edges.ts";
import type { Workflow } from "./define.ts";
import type { Report } from "./problem.ts";

/** Checks how the ways hang together: that all is reached, ends, and that branches meet. */
export function checkShape(workflow: Workflow, { ways, forks }: Ways, report: Report): void {
  const from = grouped(ways, "from");
  const order = checkCycles(workflow, from, report);
  if (order === undefined) return;
  checkReached(workflow, from, report);
  checkLoops(ways, { from, order }, report);
  const into = grouped(ways, "to");
  for (const fork of forks) checkFork(fork, { workflow, from, into }, report);
}

type Grouped = ReadonlyMap<string, readonly Way[]>;

function grouped(ways: readonly Way[], by: "from" | "to"): Grouped {
  const groups = new Map<string, Way[]>();
  for (const way of ways) {
    const others = groups.get(way[by]);
    if (others === undefined) groups.set(way[by], [way]);
    else others.push(way);
  }
  return groups;
}

/** What can be reached from `start`, itself included, by ways that may be taken. */
function reachable(start: string, from: Grouped, isOpen: (way: Way) => boolean): Set<string> {
  const reached = new Set([start]);
  const waiting = [start];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    for (const way of from.get(at) ?? []) {
      if (reached.has(way.to) || !isOpen(way)) continue;
      reached.add(way.to);
      waiting.push(way.to);
    }
  }
  return reached;
}

function checkReached(workflow: Workflow, from: Grouped, report: Report): void {
  const reached = reachable(workflow.startAt, from, () => true);
  const mend = "let an edge lead to it, or remove it";
  for (const [part, values] of [
    ["nodes", workflow.nodes],
    ["includes", workflow.includes],
  ] as const) {
    for (const [name, value] of Object.entries(values)) {
      if (!reached.has(name)) report(`${part}.${name}`, `is never reached; ${mend}`, value);
    }
  }
  for (const exit of Object.keys(workflow.exits)) {
    if (reached.has(`end:${exit}`)) continue;
    const message = `is never reached; let an edge be end(${JSON.stringify(exit)}), or remove it`;
    report(`exits.${exit}`, message);
  }
}

/**
 * Finds rings of ways that are not loops. Where there is none, the order in which all was left
 * behind: what lies ahead of a node was left before it.
 */
function checkCycles(
  workflow: Workflow,
  from: Grouped,
  report: Report,
): ReadonlyMap<string, number> | undefined {
  const done = new Map<string, number>();
  for (const start of [...Object.keys(workflow.nodes), ...Object.keys(workflow.includes)]) {
    const ring = findRing(start, from, done);
    if (ring === undefined) continue;
    const [first] = ring;
    const last = ring.at(-1);
    const way = [...ring.map((step) => step.from), first?.from].join(" → ");
    const mend = `loop(${JSON.stringify(last?.to)}, { max: 10, exhausted: … })`;
    const message = `goes round without a bound: ${way}; make it ${mend}`;
    report(last?.path ?? "edges", message, last?.declared);
    return undefined;
  }
  return done;
}

/** Depth first, without recursion: graphs may be deeper than the stack. */
function findRing(start: string, from: Grouped, done: Map<string, number>): Way[] | undefined {
  const trail: Way[] = [];
  const open = new Set([start]);
  const stack = [{ at: start, next: 0 }];
  if (done.has(start)) return undefined;
  for (let top = stack.at(-1); top !== undefined; top = stack.at(-1)) {
    const way = (from.get(top.at) ?? [])[top.next];
    top.next += 1;
    if (way === undefined) {
      stack.pop();
      trail.pop();
      open.delete(top.at);
      done.set(top.at, done.size);
    } else if (way.kind === "loop" || done.has(way.to)) continue;
    else if (open.has(way.to)) {
      const begins = way.to === start ? 0 : trail.findIndex(({ to }) => to === way.to) + 1;
      return [...trail.slice(begins), way];
    } else {
      trail.push(way);
      open.add(way.to);
      stack.push({ at: way.to, next: 0 });
    }
  }
  return undefined;
}

function checkLoops(
  ways: readonly Way[],
  { from, order }: { from: Grouped; order: ReadonlyMap<string, number> },
  report: Report,
): void {
  for (const way of ways) {
    if (way.kind !== "loop") continue;
    const end = order.get(way.from) ?? 0;
    // Only what lies between them is walked: a graph may have thousands of loops.
    const isBetween = ({ to, kind }: Way) => kind !== "loop" && (order.get(to) ?? -1) >= end;
    if (reachable(way.to, from, isBetween).has(way.from)) continue;
    const to = JSON.stringify(way.to);
    const message = `loop(${to}) does not lead back: ${way.from} does not follow ${way.to}; write ${to}`;
    report(way.path, message, way.declared);
  }
}

type Shape = { workflow: Workflow; from: Grouped; into: Grouped };

/** Branches lead to their join and nowhere else, and nothing leads into them but their fork. */
function checkFork(fork: Fork, shape: Shape, report: Report): void {
  const { at, join, declared } = fork;
  const owner = new Map<string, string>();
  const regions = fork.branches.map((branch) => ({
    branch,
    region: reachable(branch, shape.from, ({ to }) => to !== join),
  }));
  for (const { branch, region } of regions) {
    const fault = leavingFault(fork, branch, { region, owner });
    if (fault !== undefined) {
      const way = shape.into.get(fault.name)?.find((one) => region.has(one.from));
      report(way?.path ?? `edges.${at}`, fault.message, way?.declared ?? declared);
      return;
    }
  }
  for (const { branch, region } of regions) {
    const intruder = enteringWay(fork, branch, region, shape.into);
    if (intruder !== undefined) {
      const message = `leads into a branch of ${at} from outside, where its join would never begin`;
      const mend = `lead to ${JSON.stringify(at)} instead, or to what follows the join`;
      report(intruder.path, `${message}; ${mend}`, intruder.declared);
      return;
    }
    if (region.has(shape.workflow.startAt)) {
      report("startAt", `lies in a branch of ${at}; begin at ${JSON.stringify(at)} or before`);
      return;
    }
  }
}

/** The first node at which a branch is not where it should be. */
function leavingFault(
  { at, join }: Fork,
  branch: string,
  { region, owner }: { region: ReadonlySet<string>; owner: Map<string, string> },
): { name: string; message: string } | undefined {
  const of = `the branch ${JSON.stringify(branch)} of ${at}`;
  for (const name of region) {
    if (name.startsWith("end:")) {
      const mend = `it must lead to the join ${JSON.stringify(join)}`;
      return { name, message: `${of} leaves by an exit here; ${mend}` };
    }
    if (name === at) {
      return { name, message: `${of} leads back to the fork here; its loops must stay in it` };
    }
    const other = owner.get(name);
    if (other !== undefined) {
      const both = `the branches ${JSON.stringify(other)} and ${JSON.stringify(branch)} of ${at}`;
      const message = `${both} meet at ${name} before their join ${JSON.stringify(join)}`;
      return { name, message: `${message}; lead both to the join, or make ${name} the join` };
    }
    owner.set(name, branch);
  }
  return undefined;
}

function enteringWay(
  { at }: Fork,
  branch: string,
  region: ReadonlySet<string>,
  into: Grouped,
): Way | undefined {
  for (const name of region) {
    const intruder = into
      .get(name)
      ?.find((way) => !region.has(way.from) && !(way.from === at && way.to === branch));
    if (intruder !== undefined) return intruder;
  }
  return undefined;
}
