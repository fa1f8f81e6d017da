import { DURATION_FORM, parseDuration } from "../model/duration.ts";
import { LIMITS } from "../model/limits.ts";
import { checkEdges } from "./check-edges.ts";
import { checkNode } from "./check-node.ts";
import { checkShape } from "./check-shape.ts";
import { isInclude, isWorkflow, type Workflow } from "./define.ts";
import { isNode } from "./nodes.ts";
import {
  isRecord,
  isSchema,
  nameFault,
  type Report,
  show,
  unknownKeys,
  type WorkflowProblem,
} from "./problem.ts";

export type { WorkflowProblem } from "./problem.ts";

const FIELDS = [
  "name",
  "input",
  "output",
  "startAt",
  "deadline",
  "nodes",
  "includes",
  "edges",
  "exits",
] as const;

/**
 * All that is wrong with a definition, and with those that it includes; nothing where it can be run.
 * What the compiler checks is checked again: definitions are bundled without asking it.
 */
export function checkWorkflow(workflow: Workflow): WorkflowProblem[] {
  const problems: WorkflowProblem[] = [];
  const report: Report = (path, message, declared) => {
    problems.push({ path, message, declared: declared ?? workflow });
  };
  checkOne(workflow, { report, around: [], checked: new Set() });
  if (problems.length === 0 && countNodes(workflow, new Map()) > LIMITS.graphNodes) {
    report("nodes", `with all that it includes it has more than ${LIMITS.graphNodes} nodes`);
  }
  return problems;
}

type Check = {
  report: Report;
  /** The workflows that include this one, outermost first. */
  around: readonly Workflow[];
  checked: Set<Workflow>;
};

function checkOne(workflow: Workflow, check: Check): void {
  if (check.checked.has(workflow)) return;
  check.checked.add(workflow);
  const { report } = check;
  const fields = Object.keys(workflow);
  for (const message of unknownKeys(fields, FIELDS)) report("", message);
  checkOwn(workflow, report);
  const isWhole = checkParts(workflow, report);
  if (!isWhole) return;
  for (const [name, node] of Object.entries(workflow.nodes)) {
    checkNode(node, (path, message) => report(`nodes.${name}${path}`, message, node));
  }
  for (const name of Object.keys(workflow.includes)) checkInclude(name, workflow, check);
  const ways = checkEdges(workflow, report);
  if (ways !== undefined) checkShape(workflow, ways, report);
}

function checkOwn(workflow: Workflow, report: Report): void {
  const { name, input, output, deadline } = workflow;
  const ofFile = typeof name === "string" && /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(name);
  if (!ofFile || name.length > LIMITS.name) {
    report("name", `must be lower-case letters, digits and dashes, not ${show(name)}`);
  }
  if (!isSchema(input))
    report("input", "must be a zod schema, such as z.object({ url: z.string() })");
  if (!isSchema(output)) report("output", "must be a zod schema; what every exit hands over");
  if (deadline === undefined) return;
  const deadlineMs = parseDuration(deadline);
  if (deadlineMs === undefined) {
    report("deadline", `must be ${DURATION_FORM}, not ${show(deadline)}`);
  } else if (deadlineMs > LIMITS.maxRunDeadlineMs) {
    report("deadline", `must be at most "${LIMITS.maxRunDeadlineMs / 86_400_000}d"`);
  }
}

/** Whether nodes, includes, edges and exits are what they must be, so that they can be looked at. */
function checkParts(workflow: Workflow, report: Report): boolean {
  const { nodes, includes, edges, exits } = workflow as Record<keyof Workflow, unknown>;
  let isWhole = true;
  const wrong: Report = (path, message, declared) => {
    isWhole = false;
    report(path, message, declared);
  };
  const isEmpty = isRecord(nodes) && isRecord(includes) && isBare(nodes) && isBare(includes);
  if (!isRecord(nodes) || isEmpty) {
    wrong("nodes", "must name at least one node: { fetch: action({ … }) }");
  }
  if (!isRecord(includes)) wrong("includes", "must be an object: { review: includeWorkflow(…) }");
  if (!isRecord(edges)) wrong("edges", 'must say what follows each node: { fetch: end("done") }');
  if (!isRecord(exits) || isBare(exits)) {
    wrong("exits", "must name at least one exit: { done: ({ output }) => … }");
  }
  if (!isWhole) return false;
  checkNames(workflow, wrong);
  for (const [exit, value] of Object.entries(workflow.exits)) {
    const fault = nameFault(exit);
    if (fault !== undefined) wrong(`exits.${exit}`, fault);
    if (typeof value !== "function") {
      wrong(`exits.${exit}`, `must be a function that returns the output, not ${show(value)}`);
    }
  }
  return isWhole;
}

function isBare(value: Record<string, unknown>): boolean {
  return Object.keys(value).length === 0;
}

function checkNames({ nodes, includes }: Workflow, wrong: Report): void {
  const named = new Map<unknown, string>();
  for (const [part, values] of [
    ["nodes", nodes],
    ["includes", includes],
  ] as const) {
    for (const [name, value] of Object.entries<unknown>(values)) {
      const path = `${part}.${name}`;
      const fault = nameFault(name);
      if (fault !== undefined) wrong(path, fault, value);
      if (part === "nodes" && !isNode(value)) {
        const hint = isInclude(value) ? "; put it under `includes`" : "";
        const made = "compute(…), action(…), shell(…), agent(…), decision(…) or checkpoint(…)";
        wrong(path, `must be made by ${made}, not ${show(value)}${hint}`, value);
      }
      if (part === "includes" && !isInclude(value)) {
        const hint = isWorkflow(value) ? ": wrap it, and say what its input is" : "";
        wrong(path, `must be made by includeWorkflow(workflow, { input })${hint}`, value);
      }
      if (part === "includes" && Object.hasOwn(nodes, name)) {
        wrong(path, "a node has the same name; rename one of them", value);
      }
      const other = named.get(value);
      if (other !== undefined) {
        const why = "output(…) could not tell them apart; make a second one";
        wrong(path, `is the same as ${other}: ${why}`, value);
      }
      named.set(value, path);
    }
  }
}

function checkInclude(name: string, workflow: Workflow, check: Check): void {
  const include = workflow.includes[name];
  const path = `includes.${name}`;
  const inner: unknown = include?.workflow;
  if (include === undefined) return;
  if (!isWorkflow(inner)) {
    const message =
      "the first argument of includeWorkflow must be a workflow; import its definition";
    check.report(path, message, include);
    return;
  }
  if (typeof include.input !== "function") {
    const message = "input: must be a function that computes the input of the included workflow";
    check.report(path, message, include);
  }
  const around = [...check.around, workflow];
  const at = around.indexOf(inner);
  if (at !== -1) {
    const way = [...around.slice(at), inner].map((one) => one.name).join(" → ");
    check.report(path, `a workflow can't include itself: ${way}; use a loop instead`, include);
    return;
  }
  const report: Report = (below, message, declared) =>
    check.report(below === "" ? path : `${path}.${below}`, message, declared ?? inner);
  checkOne(inner, { report, around, checked: check.checked });
}

function countNodes(workflow: Workflow, known: Map<Workflow, number>): number {
  const counted = known.get(workflow);
  if (counted !== undefined) return counted;
  let count = Object.keys(workflow.nodes).length + Object.keys(workflow.exits).length;
  for (const include of Object.values(workflow.includes)) {
    count += 1 + countNodes(include.workflow, known);
  }
  known.set(workflow, count);
  return count;
}
