import type { Json } from "../model/canonical.ts";
import type { RunQuestion } from "../model/run.ts";
import { printable, printableLines } from "../model/text.ts";
import { askingOf, type Asking } from "./answers.ts";
import type { Ui } from "./pi.ts";

/** Asks a checkpoint's question by Pi's dialogs; undefined where the person left it unanswered. */
export async function askQuestion(
  ui: Ui,
  question: RunQuestion,
  signal: AbortSignal,
): Promise<{ value: Json } | undefined> {
  const title = `${printable(question.node)} asks: ${printableLines(question.message)}`;
  const asking = askingOf(question.schema);
  return ask(ui, asking, { title, signal });
}

type How = { title: string; signal: AbortSignal };

async function ask(ui: Ui, asking: Asking, how: How): Promise<{ value: Json } | undefined> {
  switch (asking.by) {
    case "choice":
      return askChoice(ui, asking.options, how);
    case "text":
      return askText(ui, asking, how);
    case "json":
      return askJson(ui, asking.prefill, how);
    case "members": {
      const value: Record<string, Json> = {};
      for (const { name, about, asking: one } of asking.members) {
        const label = printable(about ?? name);
        const answer = await ask(ui, one, { ...how, title: `${how.title}\n${label}` });
        if (answer === undefined) return undefined;
        value[name] = answer.value;
      }
      return { value };
    }
  }
}

// Not `confirm`: it says no where the dialog was only dismissed, and an answer can't be taken back.
async function askChoice(
  ui: Ui,
  options: readonly { label: string; value: Json }[],
  { title, signal }: How,
): Promise<{ value: Json } | undefined> {
  const labels = options.map(({ label }) => printable(label));
  const chosen = await ui.select(title, labels, { signal });
  const option = chosen === undefined ? undefined : options[labels.indexOf(chosen)];
  return option && { value: option.value };
}

async function askText(
  ui: Ui,
  { read, placeholder }: Extract<Asking, { by: "text" }>,
  { title, signal }: How,
): Promise<{ value: Json } | undefined> {
  for (;;) {
    const text = await ui.input(title, placeholder, { signal });
    if (text === undefined || signal.aborted) return undefined;
    const value = read(text);
    if (value !== undefined) return { value };
    ui.notify(`${printable(text)} is no ${placeholder}.`, "warning");
  }
}

async function askJson(
  ui: Ui,
  prefill: string,
  { title, signal }: How,
): Promise<{ value: Json } | undefined> {
  for (let given = prefill; ;) {
    const text = await ui.editor(`${title} (as JSON)`, given);
    if (text === undefined || signal.aborted) return undefined;
    try {
      return { value: JSON.parse(text) as Json };
    } catch (thrown) {
      given = text;
      ui.notify(`That is no JSON: ${thrown instanceof Error ? thrown.message : ""}`, "warning");
    }
  }
}
