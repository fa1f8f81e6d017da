import { printable } from "../../model/text.ts";
import { diffFields } from "../fields.ts";
import { otherReasons } from "../sentences.ts";
import type { ShownAction, ShownPlan } from "../schema.ts";
import { fieldLine } from "./values.ts";
import { footer, listed, nameOf, signed } from "./words.ts";
import type { RenderOptions } from "./words.ts";

/** Each resource with one line per field that differs: `spec.merge.method: "squash" → "rebase"`. */
export function renderFields(plan: ShownPlan, options: RenderOptions): string {
  const blocks = listed(plan, options.all).map((action) => block(action, options));
  return `${[...blocks, footer(plan, options.palette).join("\n")].join("\n\n")}\n`;
}

function block(action: ShownAction, { palette }: RenderOptions): string {
  const heading = `${signed(action.kind, palette)} ${palette.bold(nameOf(action))}`;
  const { changes = [], desired, reasons } = action;
  const fields =
    action.kind === "create" && desired?.spec !== undefined
      ? diffFields({}, desired.spec, "spec")
      : changes;
  const lines = fields.map((change) => `    ${fieldLine(change)}`);
  const others = otherReasons(reasons, changes).map((reason) => palette.dim(printable(reason)));
  return [heading, ...others.map((reason) => `    ${reason}`), ...lines].join("\n");
}
