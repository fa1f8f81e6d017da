import { secretPathsOf } from "../diff/mask.ts";
import { maskPlan } from "../diff/mask-plan.ts";
import type { RenderOptions } from "../diff/render/words.ts";
import type { ShownPlan } from "../diff/schema.ts";
import type { Plan } from "../model/plan.ts";
import type { Cli } from "./invocation.ts";
import type { Loaded } from "./plan-specs.ts";

/** A plan as it may be shown. */
export function masked(plan: Plan, { resolution }: Loaded, showSecrets: boolean): ShownPlan {
  return maskPlan(plan, secretPathsOf(resolution.managers), { reveal: showSecrets });
}

/** Prints a plan in the format that `-o` names. */
export async function showPlan(
  cli: Cli,
  plan: Plan,
  loaded: Loaded,
  showSecrets: boolean,
): Promise<void> {
  const shown = masked(plan, loaded, showSecrets);
  const body = cli.output.format === "json" ? "" : await planText(cli, shown);
  cli.output.result(shown, () => body);
}

/** A plan as text for people, in the format that `-o` names. */
export function planText({ output }: Cli, plan: ShownPlan): Promise<string> {
  const options: RenderOptions = { palette: output.colors };
  if (output.width !== undefined) options.width = output.width;
  return render(plan, output.format, options);
}

async function render(plan: ShownPlan, format: string, options: RenderOptions): Promise<string> {
  switch (format) {
    case "fields":
      return (await import("../diff/render/fields.ts")).renderFields(plan, options);
    case "unified":
      return (await import("../diff/render/unified.ts")).renderUnified(plan, options);
    case "markdown":
      return (await import("../diff/render/markdown.ts")).renderMarkdown(plan);
    default:
      return (await import("../diff/render/table.ts")).renderTable(plan, options);
  }
}
