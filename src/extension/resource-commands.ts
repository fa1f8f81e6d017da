import { PiWorkflowsError } from "../model/errors.ts";
import { describeRef, type StoredResource } from "../model/resource.ts";
import { printable } from "../model/text.ts";
import {
  applyWanted,
  changesWhatIsThere,
  planQuestion,
  planText,
  receiptText,
  type Wanted,
} from "./apply.ts";
import { documentOf, textOf } from "./child.ts";
import { helpOf, type Call } from "./grammar.ts";
import { actorOf } from "./actor.ts";
import type { Output } from "./output.ts";
import type { Context } from "./pi.ts";
import { listResources, listView, resourceView } from "./resource-list.ts";
import type { Session } from "./session.ts";
import { RESOURCE_MANAGER } from "./verbs.ts";
import { textView } from "./view.ts";

/** What a command is carried out with. */
export type Scene = { session: Session; ctx: Context; output: Output };

type Handler = (call: Call, scene: Scene) => Promise<void>;

/** Carries out what was typed after `/resource-manager`. @throws PiWorkflowsError */
export async function resourceCommand(call: Call, scene: Scene): Promise<void> {
  const handler = HANDLERS[call.verb];
  if (handler) await handler(call, scene);
  else scene.output.show(textView(helpOf(RESOURCE_MANAGER)));
}

const list: Handler = async ({ operands: [manager], flags }, { session, output }) => {
  const { link, project } = session;
  const wish = {
    ...(flags["all"] ? {} : { project }),
    ...(manager === undefined ? {} : { manager }),
    ...(flags["not-ready"] ? { notReady: true } : {}),
  };
  output.show(listView(await listResources(link, wish, true), wish, Date.now()));
};

const get: Handler = async ({ operands }, { session, output }) => {
  const said = await session.run(["get", "-o", "json", "--", ...operands]);
  output.show(resourceView(documentOf(said) as StoredResource));
};

/** What the command line prints, shown as it is. */
const printed =
  (args: readonly string[]): Handler =>
  async ({ operands, flags }, { session, output }) => {
    const limit = typeof flags["limit"] === "string" ? ["--limit", flags["limit"]] : [];
    const said = await session.run([...args, ...limit, "--", ...operands]);
    output.show(textView(textOf(said)));
  };

const LOADING = ["recursive", "prune", "allow-empty", "force"];

/** Flags that the command line knows by the same names. */
function loadingFlags({ flags }: Call): string[] {
  const hash = flags["confirm-prune"];
  return [
    ...LOADING.filter((name) => flags[name]).map((name) => `--${name}`),
    ...(typeof hash === "string" ? ["--confirm-prune", hash] : []),
  ];
}

/** What `apply` names: paths, or a manager, a key and a spec. @throws PiWorkflowsError USAGE */
function wantedOf(call: Call): Wanted {
  const [manager = "", key = "", spec, ...more] = call.operands;
  const flags = loadingFlags(call);
  if (spec === undefined || !/^\s*\{/.test(spec))
    return { source: { paths: call.operands }, flags };
  if (more.length === 0) return { source: { manager, key, spec }, flags };
  throw new PiWorkflowsError("USAGE", `apply does not take ${more.join(" ")} after a spec`, {
    hint: "Write: /resource-manager apply MANAGER KEY {spec}",
  });
}

const apply: Handler = async (call, { session, ctx, output }) => {
  const yes = call.flags["yes"] === true;
  const applied = await applyWanted(session, wantedOf(call), async (plan) => {
    output.show(textView(planText(plan), "Plan"));
    if (yes || !changesWhatIsThere(plan)) return true;
    if (ctx.hasUI) return ctx.ui.confirm("Apply this plan?", planQuestion(plan), dialog(session));
    throw new PiWorkflowsError(
      "NEEDS_CONFIRMATION",
      "something would be changed or deleted, and nobody can be asked here",
      { hint: "Look at the plan, then repeat with --yes." },
    );
  });
  if (applied.outcome === "applied") {
    return output.show(textView(receiptText(applied.receipt), "Applied"));
  }
  const { unchanged } = applied.plan.counts;
  const nothing = `Nothing to do: ${unchanged} unchanged.`;
  output.note(applied.outcome === "declined" ? "Nothing was applied." : nothing);
};

const diff: Handler = async (call, { session, output }) => {
  const files = call.operands.flatMap((path) => ["-f", path]);
  const said = await session.run(["diff", "-o", "fields", ...loadingFlags(call), ...files]);
  // A plan with problems or a held prune is a plan all the same.
  const isPlan = said.stdout.trim() !== "";
  output.show(textView(isPlan ? said.stdout.trimEnd() : textOf(said)));
};

const remove: Handler = async ({ operands, flags }, { session, ctx, output }) => {
  const ref = refOf(session, operands);
  const name = printable(describeRef(ref));
  const stored = await session.link.ask((client) => client.get(ref), true);
  if (!stored) throw notThere(name);
  if (flags["yes"] !== true) {
    if (!ctx.hasUI) {
      throw new PiWorkflowsError("NEEDS_CONFIRMATION", `deleting ${name} needs a confirmation`, {
        hint: "Repeat with --yes.",
      });
    }
    const message = "Its manager cleans up first, where it has to.";
    const sure = await ctx.ui.confirm(`Delete ${name}?`, message, dialog(session));
    if (!sure) return output.note("Nothing was deleted.");
  }
  const command = `/resource-manager delete ${name}`;
  const receipt = await session.link.ask(
    (client) => client.delete(ref, { origin: { owner: actorOf(), command } }),
    true,
  );
  const waits = printable(receipt.finalizers.join(", "));
  output.note(
    receipt.removed
      ? `${name} is gone.`
      : `${name} is being deleted; its manager must first remove ${waits}.`,
  );
};

const reconcile: Handler = async ({ operands }, { session, output }) => {
  const [resourceManager = "", key] = operands;
  const { project, link } = session;
  const target =
    key === undefined ? { project, resourceManager } : { project, resourceManager, key };
  const marked = await link.ask((client) => client.reconcile(target), true);
  const what = marked === 1 ? "1 resource" : `${marked} resources`;
  output.note(`${what} will be looked at now.`);
};

const suspension =
  (suspended: boolean): Handler =>
  async ({ operands }, { session, output }) => {
    const ref = refOf(session, operands);
    await session.link.ask((client) => client.suspend(ref, suspended), true);
    const name = printable(describeRef(ref));
    output.note(suspended ? `${name} is suspended.` : `${name} is reconciled again.`);
  };

const HANDLERS: Readonly<Record<string, Handler>> = {
  list,
  get,
  describe: printed(["describe"]),
  apply,
  diff,
  reconcile,
  delete: remove,
  suspend: suspension(true),
  resume: suspension(false),
  why: printed(["why"]),
  events: printed(["events"]),
};

function refOf({ project }: Session, [resourceManager = "", key = ""]: readonly string[]) {
  return { project, resourceManager, key };
}

/** A dialog goes away with its session. */
function dialog({ link }: Session): { signal: AbortSignal } {
  return { signal: link.closed };
}

function notThere(name: string): PiWorkflowsError {
  return new PiWorkflowsError("NOT_FOUND", `there is no resource ${name}`, {
    hint: "See /resource-manager list.",
  });
}
