import { CommanderError } from "commander";
import { createProgram, usageError } from "../../../src/cli/program.ts";
import { reportError } from "../../../src/cli/report-error.ts";
import { withSession } from "../../../src/cli/session.ts";
import { VERBS } from "../../../src/cli/verbs.ts";
import { toPiWorkflowsError } from "../../../src/model/errors.ts";
import { swapProperty } from "../../../src/sources/swap-property.ts";

/** What one command came to. `error` is its code where it was refused. */
export type Ran = { code: number; stdout: string; stderr: string; error?: string };

/** Runs one command as `main.ts` does, but in this process. */
export async function runCommand(args: readonly string[]): Promise<Ran> {
  let code = 0;
  let error: string | undefined;
  const written = { stdout: "", stderr: "" };
  const restore = (["stdout", "stderr"] as const).map((name) =>
    swapProperty(process[name], "write", (text: string | Uint8Array) => {
      written[name] += String(text);
      return true;
    }),
  );
  const folder = process.cwd();
  try {
    const program = createProgram(VERBS, async (verb, { args: operands, options }) => {
      const module = await verb.load?.();
      code = await withSession(options, "fuzz", (cli) =>
        Promise.resolve(module?.run(cli, options, ...operands)),
      );
    });
    await program.parseAsync([...args], { from: "user" });
  } catch (thrown) {
    const refused = thrown instanceof CommanderError ? usageError(thrown, "fuzz") : thrown;
    if (refused !== undefined) {
      error = toPiWorkflowsError(refused).code;
      code = reportError(refused, { json: false, color: true, verbose: false });
    }
  } finally {
    for (const undo of restore) undo();
    process.chdir(folder);
  }
  return { code, ...written, ...(error === undefined ? {} : { error }) };
}

/** Whether the arguments are understood at all; throws what is no refusal. */
export async function parseCommand(args: readonly string[]): Promise<void> {
  const program = createProgram(VERBS, () => Promise.resolve());
  const restore = swapProperty(process.stdout, "write", () => true);
  try {
    await program.parseAsync([...args], { from: "user" });
  } catch (thrown) {
    if (thrown instanceof CommanderError) return;
    const { code } = toPiWorkflowsError(thrown);
    if (code === "INTERNAL") throw thrown;
  } finally {
    restore();
  }
}
