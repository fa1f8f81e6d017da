import { PiWorkflowsError } from "../model/errors.ts";
import { parseDuration } from "../model/duration.ts";
import type { Graph, GraphEdge, GraphNode, Target } from "../model/graph.ts";
import { LIMITS } from "../model/limits.ts";
import { checkWorkflow } from "./check.ts";
import type { CompiledNode, CompiledWorkflow } from "./compiled.ts";
import type { AnyInclude, Workflow } from "./define.ts";
import { edgeKind, type End, type Loop, type Parallel } from "./edges.ts";
import { NODE, type NodeDefinition } from "./nodes.ts";
import { byCode, workOf } from "./work.ts";

const compiled = new WeakMap<object, CompiledWorkflow>();

/**
 * Makes a definition executable: what it includes is expanded in place. Each definition once.
 * @throws PiWorkflowsError INVALID_DEFINITION naming all that `checkWorkflow` finds.
 */
export function compile(workflow: Workflow): CompiledWorkflow {
  const known = compiled.get(workflow);
  if (known !== undefined) return known;
  const problems = checkWorkflow(workflow);
  if (problems.length > 0) {
    const lines = problems.map(({ path, message }) => `\n  ${path}: ${message}`);
    throw new PiWorkflowsError(
      "INVALID_DEFINITION",
      `the workflow ${JSON.stringify(workflow.name)} can't be used:${lines.join("")}`,
    );
  }
  const made = expandRoot(workflow);
  compiled.set(workflow, made);
  return made;
}

type Into = { graph: Graph; nodes: Map<string, CompiledNode> };

function expandRoot(workflow: Workflow): CompiledWorkflow {
  const { name, input, output, startAt } = workflow;
  const graph: Graph = { workflow: name, startAt, nodes: {}, edges: {} };
  const into: Into = { graph, nodes: new Map() };
  expand(workflow, { scope: "", followsExit: undefined }, into);
  const deadlineMs = parseDuration(workflow.deadline) ?? LIMITS.runDeadlineMs;
  return { name, input, output, deadlineMs, ...into };
}

/** Where a workflow stands among others: its include's path, and what follows each of its exits. */
type Position = { scope: string; followsExit: ((exit: string) => Target) | undefined };

function expand(workflow: Workflow, position: Position, into: Into): void {
  const { scope, followsExit } = position;
  const below = (name: string) => (scope === "" ? name : `${scope}/${name}`);
  const pathOf = pathsOf(workflow, below);
  const add = (path: string, node: Omit<CompiledNode, "path" | "scope" | "pathOf">): void => {
    into.nodes.set(path, { path, scope, pathOf, ...node });
    into.graph.nodes[path] = { kind: node.kind, safety: node.safety };
  };
  for (const [name, node] of Object.entries(workflow.nodes)) {
    const path = below(name);
    const definition = node[NODE];
    add(path, compileNode(path, definition, workflow));
    into.graph.nodes[path] = plainNode(into.nodes.get(path) as CompiledNode, definition);
    into.graph.edges[path] = edgeOf(workflow.edges[name], definition.kind === "decision", below);
  }
  for (const [name, include] of Object.entries(workflow.includes)) {
    const path = below(name);
    const inner = include.workflow;
    add(path, {
      kind: "include",
      safety: "pure",
      gives: inner.input,
      work: byCode(include.input),
    });
    const cases = casesOf(workflow.edges[name], include);
    Object.assign(into.graph.nodes[path] as GraphNode, {
      title: include.title ?? inner.name,
      cases: Object.keys(inner.exits),
    });
    into.graph.edges[path] = { next: { to: `${path}/${inner.startAt}` } };
    const follows = (exit: string) => targetOf(cases[exit], below);
    expand(inner, { scope: path, followsExit: follows }, into);
  }
  for (const [exit, run] of Object.entries(workflow.exits)) {
    const path = below(`end:${exit}`);
    add(path, {
      kind: followsExit ? "exit" : "result",
      safety: "pure",
      gives: workflow.output,
      keptAs: followsExit ? scope : path,
      work: byCode(run),
    });
    if (followsExit) into.graph.edges[path] = { next: followsExit(exit) };
  }
}

function compileNode(
  path: string,
  definition: NodeDefinition,
  workflow: Workflow,
): Omit<CompiledNode, "path" | "scope" | "pathOf"> {
  const { kind, options } = definition;
  const takes = options.input;
  const compensate = "compensate" in options ? options.compensate : undefined;
  return {
    kind,
    keptAs: path,
    ...workOf(definition),
    ...(takes === undefined || takes === workflow.input ? {} : { takes }),
    ...(compensate === undefined
      ? {}
      : { compensate: compensate as NonNullable<CompiledNode["compensate"]> }),
  };
}

function plainNode(node: CompiledNode, { options }: NodeDefinition): GraphNode {
  const deadlineMs = "timeout" in options ? parseDuration(options.timeout) : undefined;
  const retry = "retry" in options ? options.retry : undefined;
  const { work } = node;
  return {
    kind: node.kind,
    safety: node.safety,
    ...(options.title === undefined ? {} : { title: options.title }),
    ...(deadlineMs === undefined ? {} : { deadlineMs }),
    ...(retry === undefined
      ? {}
      : { retry: { times: retry.times, delayMs: parseDuration(retry.delay ?? "1s") ?? 0 } }),
    ...("choices" in options ? { cases: [...options.choices] } : {}),
    ...(node.compensate === undefined ? {} : { compensates: true as const }),
    ...(work.by === "agent" ? { tools: [...work.tools] } : {}),
    ...(work.by === "agent" && work.model !== undefined ? { model: work.model } : {}),
  };
}

function pathsOf(workflow: Workflow, below: Below): CompiledNode["pathOf"] {
  const paths = new Map<unknown, string>();
  for (const [name, node] of Object.entries(workflow.nodes)) paths.set(node, below(name));
  for (const [name, include] of Object.entries(workflow.includes)) paths.set(include, below(name));
  return (node) => {
    const path = paths.get(node);
    if (path !== undefined) return path;
    throw new Error(
      `output(…) was asked for a node that the workflow ${JSON.stringify(workflow.name)} does not have; ` +
        "give it one of the constants in its `nodes` or `includes`",
    );
  };
}

type Below = (name: string) => string;

function edgeOf(edge: unknown, isDecision: boolean, below: Below): GraphEdge {
  if (isDecision) {
    const { failure, ...cases } = edge as Record<string, unknown>;
    return {
      cases: Object.fromEntries(
        Object.entries(cases).map(([name, target]) => [name, targetOf(target, below)]),
      ),
      ...(failure === undefined ? {} : { failure: targetOf(failure, below) }),
    };
  }
  const isLong = typeof edge === "object" && edge !== null && edgeKind(edge) === undefined;
  const { next, failure } = (isLong ? edge : { next: edge }) as Record<string, unknown>;
  const onward =
    edgeKind(next) === "parallel"
      ? { parallel: forkOf(next as Parallel, below) }
      : { next: targetOf(next, below) };
  return { ...onward, ...(failure === undefined ? {} : { failure: targetOf(failure, below) }) };
}

function forkOf({ branches, join }: Parallel, below: Below): NonNullable<GraphEdge["parallel"]> {
  return { branches: branches.map(below), join: below(join) };
}

function targetOf(target: unknown, below: Below): Target {
  if (typeof target === "string") return { to: below(target) };
  if (edgeKind(target) === "end") return { to: below(`end:${(target as End).exit}`) };
  const { to, max, exhausted } = target as Loop;
  return { to: below(to), loop: { max, exhausted: targetOf(exhausted, below).to } };
}

/** What follows each exit of an include; one that has a single exit may name it straight. */
function casesOf(edge: unknown, { workflow }: AnyInclude): Record<string, unknown> {
  const isCases = typeof edge === "object" && edge !== null && edgeKind(edge) === undefined;
  if (isCases) return edge as Record<string, unknown>;
  return Object.fromEntries(Object.keys(workflow.exits).map((exit) => [exit, edge]));
}
