import { describeError, exitCodeOf } from "./errors.ts";
import { layOut, PLAIN, type Paint } from "./layout.ts";
import type { Component, Context, Pi, Theme, ThemeColor } from "./pi.ts";
import type { Tone, View } from "./view.ts";

/** The type of what the extension shows in a transcript. */
export const SHOWN = "pi-workflows";

/** Lines of a view that is not expanded. */
const FOLDED = 40;

/** Where a command says what it has to say: a transcript, the other end of RPC, or stderr. */
export type Output = {
  show(view: View): void;
  /** One line, that something was done. */
  note(text: string): void;
  fail(thrown: unknown): void;
};

/**
 * The output for one call. In a terminal, views go into the transcript, and not to the model where
 * Pi can tell them apart; in RPC mode they are notifications; in print mode Pi leaves stdout to the
 * model, so they go to stderr, and errors set the exit code.
 */
export function outputFor(pi: Pi, ctx: Context): Output {
  const { ui } = ctx;
  if (!ctx.hasUI) return { show: (view) => print(plainText(view)), note: print, fail: failPrinted };
  const fail = (thrown: unknown): void => ui.notify(describeError(thrown), "error");
  const note = (text: string): void => ui.notify(text, "info");
  if (modeOf(ctx) === "rpc") return { show: (view) => note(plainText(view)), note, fail };
  const show = (view: View): void => {
    if (pi.registerEntryRenderer) pi.appendEntry(SHOWN, view);
    else {
      const content = plainText(view);
      pi.sendMessage({ customType: SHOWN, content, display: true, details: view });
    }
  };
  return { show, note, fail };
}

/** How Pi runs, also where it does not say so itself. */
export function modeOf({ mode, hasUI }: Context): NonNullable<Context["mode"]> {
  if (mode !== undefined) return mode;
  if (!hasUI) return "print";
  return process.stdout.isTTY ? "tui" : "rpc";
}

function print(text: string): void {
  process.stderr.write(`${text}\n`);
}

function failPrinted(thrown: unknown): void {
  print(describeError(thrown));
  process.exitCode = exitCodeOf(thrown);
}

/** A view as text without colours. */
export function plainText(view: View): string {
  return layOut(view, PLAIN).join("\n");
}

/** Registers how Pi draws what `show` puts into a transcript. */
export function registerRenderers(pi: Pi): void {
  const draw = (view: unknown, expanded: boolean, theme: Theme): Component | undefined =>
    isView(view) ? viewComponent(view, expanded, theme) : undefined;
  pi.registerEntryRenderer?.(SHOWN, ({ data }, { expanded }, theme) => draw(data, expanded, theme));
  pi.registerMessageRenderer(SHOWN, ({ details }, { expanded }, theme) =>
    draw(details, expanded, theme),
  );
}

function isView(value: unknown): value is View {
  return typeof value === "object" && value !== null && ("table" in value || "text" in value);
}

function viewComponent(view: View, expanded: boolean, theme: Theme): Component {
  const paint = paintOf(theme);
  return {
    invalidate: () => undefined,
    render(width) {
      // Pi leaves no margin of its own.
      const lines = layOut(view, paint, Math.max(1, width - 2)).map((line) => ` ${line}`);
      const rest = lines.length - FOLDED;
      if (expanded || rest <= 0) return lines;
      return [...lines.slice(0, FOLDED), ...layOut(folded(rest), paint, width)];
    },
  };
}

function folded(rest: number): View {
  return { text: ` … ${rest} more lines; ctrl+o shows them` };
}

const COLOURS: Readonly<Record<Tone, ThemeColor>> = {
  good: "success",
  bad: "error",
  warn: "warning",
  dim: "dim",
};

/** Pi's theme as paint. */
export function paintOf(theme: Theme): Paint {
  return {
    tone: (tone, text) => theme.fg(COLOURS[tone], text),
    bold: (text) => theme.bold(text),
  };
}
