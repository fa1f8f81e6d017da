import type { Verb } from "./verb.ts";
import { AUTHORING_VERBS } from "./verbs/authoring.ts";
import { EXPLANATION_VERBS } from "./verbs/explanations.ts";
import { OPERATION_VERBS } from "./verbs/operations.ts";
import { RESOURCE_VERBS } from "./verbs/resources.ts";
import { RUN_VERBS } from "./verbs/runs.ts";
import { SERVER } from "./verbs/server.ts";
import { SPEC_VERBS } from "./verbs/specs.ts";
import { WORKFLOW_VERBS } from "./verbs/workflows.ts";
import { BLAME, SYNC, UNDELETE } from "./verbs/sync.ts";

/** Every verb of the command line, in the order of the help. */
export const VERBS: readonly Verb[] = [
  ...SPEC_VERBS,
  SYNC,
  ...RESOURCE_VERBS,
  UNDELETE,
  ...EXPLANATION_VERBS,
  BLAME,
  ...WORKFLOW_VERBS,
  ...RUN_VERBS,
  SERVER,
  ...OPERATION_VERBS,
  ...AUTHORING_VERBS,
];
