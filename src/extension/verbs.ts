import type { Flag, Grammar, Operand } from "./grammar.ts";

const MANAGER: Operand = { name: "MANAGER", kind: "manager" };
const KEY: Operand = { name: "KEY", kind: "key" };
const PATHS: Operand = { name: "PATH", kind: "path", many: true };
const RUN: Operand = { name: "RUN", kind: "run" };
const optional = (operand: Operand): Operand => ({ ...operand, optional: true });

const YES: Flag = { about: "do not ask" };
const LOADING: Readonly<Record<string, Flag>> = {
  recursive: { about: "folders with all that is in them" },
  prune: { about: "delete what was applied from these paths and is no longer there" },
  "allow-empty": { about: "prune although no spec is left" },
  force: { about: "take over resources that belong to another owner" },
};

/** `/resource-manager` */
export const RESOURCE_MANAGER: Grammar = {
  command: "resource-manager",
  about: "Resources of this project: what is wanted, and how far it is.",
  verbs: [
    {
      name: "list",
      about: "List resources and whether they are ready",
      operands: [optional(MANAGER)],
      flags: {
        "not-ready": { about: "only those that are not ready" },
        all: { about: "of every project" },
      },
    },
    { name: "get", about: "Show one resource's spec and status", operands: [MANAGER, KEY] },
    { name: "describe", about: "Show all that belongs to a resource", operands: [MANAGER, KEY] },
    {
      name: "apply",
      about: "Show the plan for spec files, and carry it out",
      operands: [PATHS],
      alsoAs: "MANAGER KEY {spec}",
      flags: {
        yes: YES,
        ...LOADING,
        "confirm-prune": { about: "prune exactly the set held under this hash", takes: "HASH" },
      },
    },
    {
      name: "diff",
      about: "Show what apply would do; changes nothing",
      operands: [optional(PATHS)],
      flags: LOADING,
    },
    {
      name: "reconcile",
      about: "Ask for a pass now, of one resource or of all of a manager",
      operands: [MANAGER, optional(KEY)],
    },
    { name: "delete", about: "Delete a resource", operands: [MANAGER, KEY], flags: { yes: YES } },
    { name: "suspend", about: "Stop reconciling a resource", operands: [MANAGER, KEY] },
    { name: "resume", about: "Reconcile a suspended resource again", operands: [MANAGER, KEY] },
    { name: "why", about: "Say why a resource is as it is", operands: [MANAGER, KEY] },
    {
      name: "events",
      about: "Show what happened, oldest first",
      operands: [optional(MANAGER), optional(KEY)],
      flags: { limit: { about: "at most so many, the latest", takes: "COUNT" } },
    },
  ],
};

/** `/workflow` */
export const WORKFLOW: Grammar = {
  command: "workflow",
  about: "Workflows of this project, and their runs.",
  verbs: [
    { name: "list", about: "List workflows", operands: [] },
    {
      name: "start",
      about: "Start a run; its questions are asked in this session",
      operands: [
        { name: "WORKFLOW", kind: "workflow" },
        { name: "{input}", kind: "value", optional: true },
      ],
    },
    {
      name: "runs",
      about: "List runs, newest first",
      operands: [{ name: "WORKFLOW", kind: "workflow", optional: true }],
      flags: { open: { about: "only those that have not ended" } },
    },
    { name: "show", about: "Show a run: its nodes, its question, its result", operands: [RUN] },
    {
      name: "answer",
      about: "Answer the question of a run; without VALUE it is asked",
      operands: [RUN, { name: "VALUE", kind: "value", optional: true }],
      flags: { node: { about: "which checkpoint, where several are open", takes: "NODE" } },
    },
    { name: "pause", about: "Keep a run from going on", operands: [RUN] },
    { name: "resume", about: "Let a paused or interrupted run go on", operands: [RUN] },
    {
      name: "cancel",
      about: "End a run, and undo what it did where it says how",
      operands: [RUN],
      flags: { yes: YES },
    },
  ],
};
