import type { WaitGoal } from "../apply/waiting.ts";
import { PiWorkflowsError } from "../model/errors.ts";

/**
 * What `--for` and `--wait` say: `ready`, `deleted`, `condition=TYPE`, `condition=TYPE=False`.
 * @throws PiWorkflowsError USAGE
 */
export function parseGoal(text: string): WaitGoal {
  if (text === "deleted") return "deleted";
  if (text === "ready") return { condition: "Ready", status: true };
  const [word, condition, status = "true", ...more] = text.split("=");
  const known = ["true", "false"].includes(status.toLowerCase());
  if (word !== "condition" || !condition || !known || more.length > 0) {
    throw new PiWorkflowsError("USAGE", `${JSON.stringify(text)} can't be waited for`, {
      hint: "Write ready, deleted, condition=TYPE or condition=TYPE=False.",
    });
  }
  return { condition, status: status.toLowerCase() === "true" };
}

/** The same for people: `ready`, `gone`, `Merged=False`. */
export function describeGoal(goal: WaitGoal): string {
  if (goal === "deleted") return "gone";
  if (goal.condition === "Ready" && goal.status) return "ready";
  return goal.status ? goal.condition : `${goal.condition}=False`;
}
