import { LIMITS } from "../model/limits.ts";
import type { Workflow } from "./define.ts";
import { edgeKind, type End, type Loop, type Parallel } from "./edges.ts";
import { isNode, NODE } from "./nodes.ts";
import { didYouMean } from "../model/nearest.ts";
import { isRecord, type Report, show } from "./problem.ts";

/**
 * One way from a node to another, or to an exit as `end:done`. `loop` leads back; `branch` is one of
 * several that are taken at once.
 */
export type Way = {
  from: string;
  to: string;
  kind: "forward" | "loop" | "branch";
  /** Where it is written: `edges.good.no`. */
  path: string;
  declared: unknown;
};

export type Fork = { at: string; branches: readonly string[]; join: string; declared: unknown };

/** All that the edges say. */
export type Ways = { ways: Way[]; forks: Fork[] };

/** Checks what each edge says; undefined where it is not known where they lead. */
export function checkEdges(workflow: Workflow, report: Report): Ways | undefined {
  const edges = new EdgeCheck(workflow, report);
  edges.check();
  return edges.isWhole ? { ways: edges.ways, forks: edges.forks } : undefined;
}

const FORMS = 'a node\'s name, end("done") or loop("node", { max, exhausted })';

class EdgeCheck {
  readonly ways: Way[] = [];
  readonly forks: Fork[] = [];
  /** False once it can't be said where all edges lead. */
  isWhole = true;
  private readonly workflow: Workflow;
  private readonly report: Report;
  private readonly names: string[];

  constructor(workflow: Workflow, report: Report) {
    this.workflow = workflow;
    this.report = (path, message, declared) => {
      this.isWhole = false;
      report(path, message, declared);
    };
    this.names = [...Object.keys(workflow.nodes), ...Object.keys(workflow.includes)];
  }

  check(): void {
    const { startAt, edges, includes } = this.workflow;
    if (!this.names.includes(startAt)) this.report("startAt", this.noNode(startAt));
    for (const name of Object.keys(edges)) {
      if (!this.names.includes(name)) this.report(`edges.${name}`, this.unknown(name));
    }
    for (const name of this.names) {
      const edge = edges[name];
      if (edge === undefined) {
        const message = `is missing: nothing follows ${name}; give ${FORMS}, or parallel([…], { join })`;
        this.report(`edges.${name}`, message);
      } else if (name in includes) this.include(name, edge);
      else if (this.workflow.nodes[name]?.[NODE].kind === "decision") this.decision(name, edge);
      else this.plain(name, edge);
    }
  }

  private plain(from: string, edge: unknown): void {
    const path = `edges.${from}`;
    if (!isRecord(edge) || edgeKind(edge) !== undefined || isNode(edge)) {
      this.onward(from, path, edge);
      return;
    }
    const unknown = Object.keys(edge).filter((key) => key !== "next" && key !== "failure");
    if (unknown.length > 0) {
      const kind = this.workflow.nodes[from]?.[NODE].kind;
      this.report(
        `${path}.${unknown[0]}`,
        `${from} is a ${kind}, which has no cases; give ${FORMS}, or { next, failure }`,
      );
      return;
    }
    this.onward(from, `${path}.next`, edge["next"]);
    if (edge["failure"] !== undefined) this.target(from, `${path}.failure`, edge["failure"]);
  }

  private decision(from: string, edge: unknown): void {
    const options: unknown = this.workflow.nodes[from]?.[NODE].options;
    const choices: unknown = isRecord(options) ? options["choices"] : undefined;
    // What is wrong with them is told of the node.
    if (!Array.isArray(choices) || choices.length === 0) {
      this.isWhole = false;
      return;
    }
    const { failure, ...cases } = isCases(edge) ? edge : { failure: undefined };
    this.cases(from, isCases(edge) ? cases : undefined, choices.map(String));
    if (failure !== undefined) this.target(from, `edges.${from}.failure`, failure);
  }

  private include(from: string, edge: unknown): void {
    const exits: unknown = this.workflow.includes[from]?.workflow?.exits;
    if (!isRecord(exits)) {
      this.isWhole = false;
      return;
    }
    const names = Object.keys(exits);
    if (isCases(edge)) this.cases(from, edge, names);
    else if (names.length === 1) this.target(from, `edges.${from}`, edge);
    else this.cases(from, undefined, names);
  }

  private cases(from: string, edge: Record<string, unknown> | undefined, names: string[]): void {
    const path = `edges.${from}`;
    const what = from in this.workflow.nodes ? "choice" : "exit";
    if (edge === undefined) {
      const form = names.map((name) => `${key(name)}: …`).join(", ");
      this.report(path, `must say what follows each ${what} of ${from}: { ${form} }`);
      return;
    }
    for (const name of names) {
      if (edge[name] === undefined) {
        const message = `is missing: nothing follows the ${what} ${show(name)} of ${from}; give ${FORMS}`;
        this.report(join(path, name), message);
      } else this.target(from, join(path, name), edge[name]);
    }
    for (const name of Object.keys(edge)) {
      if (names.includes(name)) continue;
      const message = `${from} has no ${what} ${show(name)}${didYouMean(name, names)}`;
      this.report(join(path, name), message);
    }
  }

  private onward(from: string, path: string, target: unknown): void {
    if (edgeKind(target) !== "parallel") {
      this.target(from, path, target);
      return;
    }
    const { branches, join: joined } = target as Parallel;
    if (!Array.isArray(branches) || branches.length < 2 || branches.length > LIMITS.branches) {
      const message = `parallel(…) takes from 2 to ${LIMITS.branches} branches; for one write its name`;
      this.report(path, message, target);
      return;
    }
    if (!this.names.includes(joined)) this.report(`${path}.join`, this.noNode(joined), target);
    for (const [index, branch] of (branches as unknown[]).entries()) {
      const place = `${path}.branches[${index}]`;
      if (typeof branch !== "string" || !this.names.includes(branch)) {
        this.report(place, this.unknown(branch), target);
      } else if (branches.indexOf(branch) !== index) {
        this.report(place, `${branch} is there twice`, target);
      } else if (branch === joined) {
        this.report(
          place,
          `${branch} is the join; it begins when all branches have led to it`,
          target,
        );
      }
      this.ways.push({ from, to: String(branch), kind: "branch", path: place, declared: target });
    }
    this.forks.push({ at: from, branches, join: joined, declared: target });
  }

  private target(from: string, path: string, target: unknown): void {
    const add = (to: string, kind: Way["kind"], at = path) =>
      this.ways.push({ from, to, kind, path: at, declared: edgeKind(target) ? target : undefined });
    switch (edgeKind(target)) {
      case "end":
        add(this.exit(path, target as End), "forward");
        return;
      case "loop":
        this.loop(path, target as Loop, add);
        return;
      case "parallel": {
        const message = "only what always follows a node may fork; lead to a node that does";
        this.report(path, message, target);
        return;
      }
      case undefined:
        if (typeof target === "string" && this.names.includes(target)) add(target, "forward");
        else this.report(path, this.misnamed(target));
    }
  }

  private loop(
    path: string,
    made: Loop,
    add: (to: string, kind: Way["kind"], at?: string) => void,
  ): void {
    const { to, max, exhausted } = made;
    if (!this.names.includes(to)) this.report(path, this.unknown(to), made);
    if (!Number.isInteger(max) || max < 1 || max > LIMITS.loopTimes) {
      const message = `must be a whole number from 1 to ${LIMITS.loopTimes}, not ${show(max)}`;
      this.report(`${path}.max`, `${message}: every loop is bounded`, made);
    }
    add(to, "loop");
    const place = `${path}.exhausted`;
    if (edgeKind(exhausted) === "end") add(this.exit(place, exhausted as End), "forward", place);
    else if (typeof exhausted === "string" && this.names.includes(exhausted)) {
      add(exhausted, "forward", place);
    } else {
      const message = exhausted === undefined ? "is missing" : this.misnamed(exhausted);
      this.report(place, `where it leads after going round ${max} times: ${message}`, made);
    }
  }

  private exit(path: string, made: End): string {
    const exits = Object.keys(this.workflow.exits);
    if (!exits.includes(made.exit)) {
      const message = `there is no exit ${show(made.exit)}${didYouMean(made.exit, exits)}`;
      this.report(path, message, made);
    }
    return `end:${made.exit}`;
  }

  private unknown(name: unknown): string {
    if (typeof name !== "string") return this.misnamed(name);
    return `there is no node ${show(name)}${didYouMean(name, this.names)}`;
  }

  /** Of a place that takes a name and nothing else. */
  private noNode(name: unknown): string {
    const first = show(this.names[0] ?? "first");
    if (typeof name === "string") return this.unknown(name);
    return `must be the name of a node, such as ${first}, not ${show(name)}`;
  }

  private misnamed(target: unknown): string {
    if (typeof target === "string") {
      const exit = target in this.workflow.exits ? `; the exit is end(${show(target)})` : "";
      return exit === "" ? this.unknown(target) : `there is no node ${show(target)}${exit}`;
    }
    const { nodes, includes } = this.workflow;
    const [name] = Object.entries<unknown>({ ...nodes, ...includes }).find(
      ([, value]) => value === target,
    ) ?? [undefined];
    if (name !== undefined) return `edges lead to names; write ${show(name)}`;
    return `must be ${FORMS}, not ${show(target)}`;
  }
}

function isCases(edge: unknown): edge is Record<string, unknown> {
  return isRecord(edge) && edgeKind(edge) === undefined && !isNode(edge);
}

function key(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

function join(path: string, name: string): string {
  return key(name) === name ? `${path}.${name}` : `${path}[${JSON.stringify(name)}]`;
}
