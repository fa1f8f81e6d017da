import { renderFields } from "../diff/render/fields.ts";
import { PLAIN } from "../diff/render/palette.ts";
import { countsLine, gateLines, receiptWord } from "../diff/render/words.ts";
import type { ShownPlan } from "../diff/schema.ts";
import { PiWorkflowsError, type ErrorJson } from "../model/errors.ts";
import type { ApplyReceipt } from "../model/plan.ts";
import { describeRef } from "../model/resource.ts";
import { printable } from "../model/text.ts";
import { documentOf } from "./child.ts";
import type { Session } from "./session.ts";

/** What is to be applied: spec files and folders, or one spec. */
export type Wanted = {
  source: { paths: readonly string[] } | { manager: string; key: string; spec: string };
  /** Flags of the command line that change the plan. */
  flags: readonly string[];
  signal?: AbortSignal | undefined;
};

/** Answers whether a plan is to be carried out; it has shown it. */
export type Confirm = (plan: ShownPlan) => Promise<boolean>;

/** What an apply came to. */
export type Applied =
  | { outcome: "unchanged" | "declined"; plan: ShownPlan }
  | { outcome: "applied"; plan: ShownPlan; receipt: Receipt };

export type Receipt = ApplyReceipt & { error?: ErrorJson };

// Files and resources may change while a person reads a plan; then the new plan is shown.
const MOST_PLANS = 3;

/** The plan for what is wanted. Nothing is changed. @throws PiWorkflowsError */
export async function planFor(session: Session, wanted: Wanted): Promise<ShownPlan> {
  return (await runApply(session, wanted, ["--dry-run"])) as ShownPlan;
}

/**
 * Shows the plan, has it confirmed, and carries out exactly that plan: where it changed meanwhile,
 * the new one is confirmed. The session remembers what it applied.
 * @throws PiWorkflowsError
 */
export async function applyWanted(
  session: Session,
  wanted: Wanted,
  confirm: Confirm,
): Promise<Applied> {
  for (let round = 1; ; round += 1) {
    const plan = await planFor(session, wanted);
    refuseProblems(plan);
    if (!hasWork(plan)) {
      refuseHeld(plan);
      return { outcome: "unchanged", plan };
    }
    if (!(await confirm(plan))) return { outcome: "declined", plan };
    try {
      // What was begun is carried through, also where the model's turn is called off.
      const { source, flags } = wanted;
      const how = ["--plan", plan.id, "--yes"];
      const receipt = (await runApply(session, { source, flags }, how)) as Receipt;
      remember(session, plan, receipt);
      return { outcome: "applied", plan, receipt };
    } catch (thrown) {
      const moved = thrown instanceof PiWorkflowsError && thrown.code === "PLAN_STALE";
      if (!moved || round === MOST_PLANS) throw thrown;
    }
  }
}

/**
 * Runs `apply` for what is wanted. A spec goes over standard input: in the arguments, every process
 * of the machine could read it.
 */
async function runApply(
  session: Session,
  { source, flags, signal }: Wanted,
  more: readonly string[],
): Promise<unknown> {
  const begin = ["apply", ...flags, ...more, "-o", "json"];
  if ("paths" in source) {
    const files = source.paths.flatMap((path) => ["-f", path]);
    return documentOf(await session.run([...begin, ...files], { signal }));
  }
  const { manager, key, spec } = source;
  const args = [...begin, "--", manager, key, "-"];
  return documentOf(await session.run(args, { signal, input: spec }));
}

function refuseProblems(plan: ShownPlan): void {
  const { problems, counts } = plan;
  if (problems.length > 0) {
    throw new PiWorkflowsError("INVALID_SPECS", "some spec files are not valid", {
      details: { problems },
    });
  }
  if (counts.conflict + counts.invalid === 0) return;
  const names = plan.actions
    .filter(({ kind }) => kind === "conflict" || kind === "invalid")
    .map((action) => `${describeRef(action)}: ${action.reasons.join("; ")}`);
  throw new PiWorkflowsError("CONFLICT", names.join("\n  "));
}

function refuseHeld(plan: ShownPlan): void {
  const { prune } = plan;
  if (prune.state === "clear") return;
  const code = prune.state === "held" ? "PRUNE_HELD" : "PRUNE_BLOCKED";
  throw new PiWorkflowsError(code, gateLines(plan).join("\n  "));
}

/** Whether carrying it out would write anything. */
export function hasWork({ counts, prune }: ShownPlan): boolean {
  const { create, update, move } = counts;
  return create + update + move > 0 || (counts.prune > 0 && prune.state === "clear");
}

/** Whether it changes or deletes something that is there. */
export function changesWhatIsThere({ counts }: ShownPlan): boolean {
  return counts.update + counts.prune > 0;
}

/** A plan for people, every field that differs. */
export function planText(plan: ShownPlan): string {
  return renderFields(plan, { palette: PLAIN }).trim();
}

/** A plan in one sentence, for a dialog's title. */
export function planQuestion(plan: ShownPlan): string {
  return [`Apply? ${countsLine(plan)}`, ...gateLines(plan)].join("\n");
}

/** What was done, one line each, and what was not. */
export function receiptText({ actions, error }: Receipt): string {
  const lines = actions
    .filter(({ kind }) => kind !== "unchanged")
    .map((action) => {
      const { outcome, message } = action;
      const detail = message === undefined || outcome === "done" ? "" : `: ${printable(message)}`;
      return `${receiptWord(action)} ${printable(describeRef(action))}${detail}`;
    });
  const trouble = error ? [`error[${error.code}]: ${error.message}`, error.hint] : [];
  return [...lines, ...trouble].join("\n");
}

function remember(session: Session, plan: ShownPlan, { actions }: Receipt): void {
  const { project } = plan;
  const uids = new Map(
    plan.actions.map((action) => [describeRef(action), action.current?.uid] as const),
  );
  session.memory.applied(
    actions
      .filter(({ kind, outcome }) => outcome === "done" && kind !== "unchanged" && kind !== "move")
      .flatMap(({ resourceManager, key, uid, generation = 0 }) => {
        const known = uid ?? uids.get(describeRef({ resourceManager, key }));
        return known === undefined
          ? []
          : [{ uid: known, project, resourceManager, key, generation }];
      }),
  );
}
