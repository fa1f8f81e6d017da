import { PiWorkflowsError } from "../model/errors.ts";
import { printable, printableLines } from "../model/text.ts";
import { textOf } from "./child.ts";
import { plainText } from "./output.ts";
import { nobodyToAsk, optionalText, requiredText } from "./resource-tool.ts";
import type { Parameters, ToolAction, ToolScene } from "./tools.ts";
import { giveAnswer, openQuestion, runsView, startRun } from "./workflow-commands.ts";

/** Carries out one action of the tool `workflow_runs`. @throws PiWorkflowsError */
export const runAction: ToolAction = async (parameters, scene) => {
  const { session, signal } = scene;
  switch (parameters["action"]) {
    case "start": {
      const name = requiredText(parameters, "workflow");
      const run = await startRun(session, name, optionalText(parameters, "input"), signal);
      return `Run ${run.runId} started; it goes on in the background. See show.`;
    }
    case "list": {
      const workflow = optionalText(parameters, "workflow");
      const [workflows, runs] = await Promise.all([
        session.run(["workflows"], { signal }),
        runsView(session, { workflow, open: false }),
      ]);
      return `${textOf(workflows)}\n\n${plainText(runs)}`;
    }
    case "show":
      return textOf(
        await session.run(["run", "show", "--", requiredText(parameters, "run")], { signal }),
      );
    case "answer":
      return answerByTool(parameters, scene);
    default:
      throw new PiWorkflowsError("USAGE", `there is no action ${String(parameters["action"])}`);
  }
};

/** A checkpoint waits for a person, so the model's answer is shown to one first. */
async function answerByTool(parameters: Parameters, scene: ToolScene): Promise<string> {
  const { session, ctx, signal } = scene;
  const run = requiredText(parameters, "run");
  const answer = requiredText(parameters, "answer");
  const question = await openQuestion(session, run, optionalText(parameters, "node"));
  if (!session.settings.answerWithoutConfirmation) {
    if (!ctx.hasUI) throw nobodyToAsk("answer a checkpoint", "answerWithoutConfirmation");
    const ends = signal ? AbortSignal.any([signal, session.link.closed]) : session.link.closed;
    const sure = await ctx.ui.confirm(
      "The model wants to answer a checkpoint",
      `${printable(question.node)} asks: ${printableLines(question.message)}\nAnswer: ${printable(answer)}`,
      { signal: ends },
    );
    if (!sure) return "The user declined; the run still waits. Ask before you try again.";
    // The user agreed to an answer of this question, and another may be open by now.
    const now = await openQuestion(session, run, question.node);
    if (now.visit !== question.visit) {
      throw new PiWorkflowsError("ALREADY_ANSWERED", "that question was answered meanwhile", {
        hint: "The run asks anew: see show.",
      });
    }
  }
  return giveAnswer(session, { run, node: question.node, value: answer });
}
