import { appendFileSync } from "node:fs";

/**
 * Adds to a figure that `npm run soak` prints when all is over, such as kills. `what` is the figure's
 * name in the table and in RELIABILITY.md. Outside a soak it does nothing.
 */
export function count(what: string, times: number): void {
  tell({ what, sum: times });
}

/** Keeps the largest value of a figure that `npm run soak` prints, such as a latency; see `count`. */
export function worst(what: string, value: number): void {
  tell({ what, max: value });
}

function tell(figure: { what: string; sum?: number; max?: number }): void {
  const file = process.env["SOAK_FIGURES"];
  // Appended at once: files of tests run in processes of their own, and may be killed.
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(figure)}\n`);
}
