import type { JournalEntry } from "../../model/run.ts";
import { firstLine, printable } from "../../model/text.ts";
import { Alignment } from "../columns.ts";
import type { Output } from "../output.ts";
import { age, span } from "../time.ts";
import { isSeam, paintAttempt } from "./node-table.ts";

/** Lines of a journal that are told at once: of a run that is far on, people want the end. */
const TOLD_AT_ONCE = 200;

/** Rows come one by one: with room for usual names the columns stand still. */
const USUAL = ["succeeded", "a-node-with-a-name", "10.0s"];

/** Says what a run does, on stderr: a line for each node that ends, and on a terminal what runs. */
export class Progress {
  readonly #output: Pick<Output, "note" | "status" | "colors">;
  readonly #rows = new Alignment();
  readonly #running = new Map<string, { node: string; at: number }>();

  constructor(output: Pick<Output, "note" | "status" | "colors">) {
    this.#output = output;
    this.#rows.fit(USUAL);
  }

  /** Takes in further lines of the journal; of many at once, only the latest are told. */
  see(entries: readonly JournalEntry[]): void {
    const told = entries.length - TOLD_AT_ONCE;
    if (told > 0) this.#output.note("  … what ended before is in run show");
    for (const [index, entry] of entries.entries()) {
      if (entry.event === "recovered") this.#running.clear();
      if (!("visit" in entry)) continue;
      const place = `${entry.visit}${entry.compensation ? " undo" : ""}`;
      if (entry.event !== "begun") this.#running.delete(place);
      else if (entry.kind !== "checkpoint")
        this.#running.set(place, { node: entry.node, at: entry.at });
      const row = index < told ? undefined : this.#rowOf(entry);
      if (row) this.#output.note(`  ${this.#rows.line(row)}`);
    }
  }

  /** Shows what runs at `now`; `idle` where nothing does. */
  tick(now: number, idle: string): void {
    const running = [...this.#running.values()].map(
      ({ node, at }) => `${printable(node)} (${age(now - at)})`,
    );
    this.#output.status(running.length > 0 ? `  running ${running.join(", ")}` : `  ${idle}`);
  }

  #rowOf(entry: Extract<JournalEntry, { visit: number }>): string[] | undefined {
    if (entry.event === "begun" || entry.event === "released") return undefined;
    if ("kind" in entry && isSeam(entry.kind) && entry.event === "succeeded") return undefined;
    const choice = entry.event === "succeeded" && entry.choice ? ` → ${entry.choice}` : "";
    const said =
      entry.event === "failed" ? `${entry.error.reason}: ${firstLine(entry.error.message)}` : "";
    const verb = entry.compensation ? "undo of " : "";
    const attempt = entry.attempt > 1 ? ` (attempt ${entry.attempt})` : "";
    return [
      paintAttempt(entry.event, this.#output.colors),
      printable(`${verb}${entry.node}${choice}${attempt}`),
      "startedAt" in entry ? span(entry.at - entry.startedAt) : "",
      printable(said),
    ];
  }
}
