import { PiWorkflowsError } from "../model/errors.ts";
import type { StoredResource } from "../model/resource.ts";
import { PI_PROJECT_SETTINGS, PI_SETTINGS_MEMBER } from "../model/pi-settings.ts";
import { applyWanted, planFor, planQuestion, planText, receiptText, type Wanted } from "./apply.ts";
import { documentOf, textOf } from "./child.ts";
import { plainText } from "./output.ts";
import { listResources, listView, resourceView } from "./resource-list.ts";
import type { Parameters, ToolAction, ToolScene } from "./tools.ts";
import { quoteWord } from "./words.ts";

/** Lines of a plan that a dialog shows. */
const PLAN_LINES = 30;

/** Carries out one action of the tool `resources`. @throws PiWorkflowsError */
export const resourceAction: ToolAction = async (parameters, scene) => {
  const { session, signal } = scene;
  const { project, link } = session;
  switch (parameters["action"]) {
    case "list": {
      const manager = optionalText(parameters, "manager");
      const wish = {
        project,
        ...(manager === undefined ? {} : { manager }),
        ...(parameters["not_ready"] === true ? { notReady: true } : {}),
      };
      return plainText(listView(await listResources(link, wish, true), wish, Date.now()));
    }
    case "get":
      return plainText(resourceView(await readResource(parameters, scene)));
    case "explain":
      return textOf(await session.run(["why", "--", ...named(parameters)], { signal }));
    case "diff":
      return planText(await planFor(session, wantedOf(parameters, signal)));
    case "apply":
      return applyByTool(wantedOf(parameters, signal), scene);
    case "reconcile": {
      const [resourceManager, key] = named(parameters);
      const target = { project, resourceManager, key };
      const marked = await link.ask((client) => client.reconcile(target), true);
      return marked > 0 ? "It will be looked at now." : "Nothing was marked.";
    }
    default:
      throw new PiWorkflowsError("USAGE", `there is no action ${String(parameters["action"])}`);
  }
};

async function readResource(
  parameters: Parameters,
  { session, signal }: ToolScene,
): Promise<StoredResource> {
  const said = await session.run(["get", "-o", "json", "--", ...named(parameters)], { signal });
  return documentOf(said) as StoredResource;
}

async function applyByTool(wanted: Wanted, { session, ctx, signal }: ToolScene): Promise<string> {
  const applied = await applyWanted(session, wanted, async (plan) => {
    if (session.settings.applyWithoutConfirmation) return true;
    if (!ctx.hasUI) throw nobodyToAsk("apply specs", "applyWithoutConfirmation");
    const ends = signal ? AbortSignal.any([signal, session.link.closed]) : session.link.closed;
    const text = [planLines(planText(plan), wanted), planQuestion(plan)].join("\n\n");
    return ctx.ui.confirm("The model wants to apply this plan", text, { signal: ends });
  });
  switch (applied.outcome) {
    case "applied":
      return `${receiptText(applied.receipt)}\nIt is reconciled now; see list or explain.`;
    case "declined":
      return "The user declined; nothing was applied. Ask before you try again.";
    case "unchanged":
      return "Nothing to do: everything is as the specs say.";
  }
}

/** As much of a plan as a dialog has room for, and where the rest is to be seen. */
export function planLines(text: string, { source }: Pick<Wanted, "source">): string {
  const lines = text.split("\n");
  const rest = lines.length - PLAN_LINES;
  if (rest <= 0) return text;
  const how =
    "paths" in source
      ? `type /resource-manager diff ${source.paths.map(quoteWord).join(" ")}`
      : "ask for the diff";
  const more = `… ${rest} more ${rest === 1 ? "line" : "lines"}: decline and ${how} to see them all`;
  return [...lines.slice(0, PLAN_LINES), more].join("\n");
}

/** Where a person would be asked and none is there. */
export function nobodyToAsk(what: string, setting: string): PiWorkflowsError {
  return new PiWorkflowsError("NEEDS_CONFIRMATION", `The model may not ${what} without the user`, {
    hint:
      "Nobody can be asked here. Leave it to the user, who may also allow it: " +
      `{"${PI_SETTINGS_MEMBER}": {"${setting}": true}} in ${PI_PROJECT_SETTINGS}, before the session begins.`,
  });
}

function wantedOf(parameters: Parameters, signal: AbortSignal | undefined): Wanted {
  const path = optionalText(parameters, "path");
  if (path !== undefined) return { source: { paths: [path] }, flags: [], signal };
  const [manager, key] = named(parameters);
  return { source: { manager, key, spec: requiredText(parameters, "spec") }, flags: [], signal };
}

function named(parameters: Parameters): [manager: string, key: string] {
  return [requiredText(parameters, "manager"), requiredText(parameters, "key")];
}

/** A member that may be missing, or be empty, as models write what they leave out. */
export function optionalText(parameters: Parameters, name: string): string | undefined {
  const value = parameters[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** @throws PiWorkflowsError USAGE */
export function requiredText(parameters: Parameters, name: string): string {
  const value = optionalText(parameters, name);
  if (value !== undefined) return value;
  throw new PiWorkflowsError("USAGE", `${String(parameters["action"])} needs ${name}`, {
    hint: "",
  });
}
