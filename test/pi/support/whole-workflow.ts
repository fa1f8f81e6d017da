import type { Rule } from "../../model-provider/stand-in.mjs";
import { textOf } from "../../model-provider/stand-in.mjs";
import { submits } from "./agents.ts";

/**
 * A workflow with every kind of node, an include in an include, a loop in a loop, and branches that
 * meet: a note is written up, checked, read by an agent, and sent when a person agrees.
 */
export const WHOLE_WORKFLOW: Readonly<Record<string, string>> = {
  ".pi/workflows/lint.workflow.ts": `
import { decision, defineWorkflow, end, shell } from "@osolmaz/pi-workflows";
import { z } from "zod";

const File = z.object({ file: z.string() });
const open = shell({
  input: File,
  title: "count what is open",
  command: ({ input }) => ["grep", "--count", "TODO", "--", input.file],
  exitCodes: [0, 1],
  safety: "idempotent",
  parse: ({ stdout }) => Number(stdout),
  output: z.number(),
});
const state = decision({
  choices: ["clean", "open"],
  choose: ({ output }) => (output(open) === 0 ? "clean" : "open"),
});

export default defineWorkflow({
  name: "lint",
  input: File,
  output: z.object({ open: z.number() }),
  startAt: "open",
  nodes: { open, state },
  edges: { open: "state", state: { clean: end("clean"), open: end("open") } },
  exits: {
    clean: () => ({ open: 0 }),
    open: ({ output }) => ({ open: output(open) }),
  },
});
`,
  ".pi/workflows/review.workflow.ts": `
import { agent, decision, defineWorkflow, end, includeWorkflow } from "@osolmaz/pi-workflows";
import { z } from "zod";
import lintWorkflow from "./lint.workflow.ts";

const File = z.object({ file: z.string() });
const lint = includeWorkflow(lintWorkflow, { input: ({ input }) => ({ file: input.file }) });
const opinion = agent({
  input: File,
  prompt: ({ input }) => \`Read \${input.file}. What is wrong with it?\`,
  output: z.object({ findings: z.array(z.string()) }),
});
const good = decision({
  choices: ["yes", "no"],
  prompt: ({ output }) => \`Are these acceptable? \${JSON.stringify(output(opinion).findings)}\`,
});

export default defineWorkflow({
  name: "review",
  input: File,
  output: z.object({ findings: z.array(z.string()) }),
  startAt: "lint",
  nodes: { opinion, good },
  includes: { lint },
  edges: {
    lint: { clean: "opinion", open: end("refused") },
    opinion: "good",
    good: { yes: end("approved"), no: end("refused") },
  },
  exits: {
    approved: ({ output }) => ({ findings: output(opinion).findings }),
    refused: ({ output }) => ({ findings: [\`\${output(lint).open} things are open\`] }),
  },
});
`,
  ".pi/workflows/send-note.workflow.ts": `
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import path from "node:path";
import {
  action, checkpoint, compute, decision, defineWorkflow, end, includeWorkflow, loop, parallel, shell,
} from "@osolmaz/pi-workflows";
import { z } from "zod";
import reviewWorkflow from "./review.workflow.ts";

const Input = z.object({ file: z.string(), lines: z.number().int() });

const names = action({
  input: Input,
  safety: "pure",
  run: ({ input, project }) => ({ file: path.join(project, input.file), wanted: input.lines }),
});
const line = compute({
  output: z.string(),
  run: ({ tryOutput, log }) => {
    const before = tryOutput(write) ?? 0;
    log.info("writing", { line: before + 1 });
    return \`line \${before + 1}\`;
  },
});
const write = action({
  safety: "idempotent",
  output: z.number(),
  run: ({ output }) => {
    const { file } = output(names);
    const text = existsSync(file) ? readFileSync(file, "utf8") : "";
    if (!text.includes(output(line) + "\\n")) appendFileSync(file, output(line) + "\\n");
    return readFileSync(file, "utf8").trim().split("\\n").length;
  },
});
const enough = decision({
  choices: ["more", "enough"],
  choose: ({ output }) => (output(write) < output(names).wanted ? "more" : "enough"),
});
const checks = compute({ title: "check it in three ways", run: () => null });
const count = shell({
  shell: 'sort "$FILE" | uniq | wc -l',
  env: ({ output }) => ({ FILE: output(names).file }),
  safety: "idempotent",
  parse: ({ stdout }) => Number(stdout),
});
const stamp = action({
  safety: "idempotent",
  retry: { times: 1, delay: "1s" },
  run: ({ attempt }) => {
    if (attempt === 1) throw new Error("the clock is not there yet");
    return "stamped";
  },
});
const review = includeWorkflow(reviewWorkflow, {
  title: "have it read",
  input: ({ output }) => ({ file: output(names).file }),
});
const refused = compute({ run: ({ output }) => output(review).findings });
const summary = compute({
  run: ({ output }) =>
    \`\${output(count)} lines, \${output(stamp)}, \${output(review).findings.join("; ") || "nothing found"}\`,
});
const ask = checkpoint({
  message: ({ output }) => \`Send it? \${output(summary)}\`,
  answer: z.object({ ok: z.boolean() }),
});
const agreed = decision({
  choices: ["yes", "no"],
  choose: ({ output }) => (output(ask).ok ? "yes" : "no"),
});
const more = compute({ run: () => null });
const send = action({
  input: Input,
  safety: "manual",
  run: async ({ output, effects, project, runId }) => {
    const outbox = path.join(project, "outbox");
    const sent = () => existsSync(outbox) && readFileSync(outbox, "utf8").includes(runId);
    const { result } = await effects.ensure({
      key: "send",
      kind: "mail",
      request: { note: output(summary) },
      observe: async () => (sent() ? { state: "applied", result: "seen" } : { state: "absent" }),
      apply: async () => {
        appendFileSync(outbox, \`\${runId} \${output(summary)}\\n\`);
        return { externalRef: "mail-1", result: "sent" };
      },
    });
    return result;
  },
});

export default defineWorkflow({
  name: "send-note",
  input: Input,
  output: z.object({ sent: z.boolean(), summary: z.string() }),
  startAt: "names",
  deadline: "30m",
  nodes: {
    names, line, write, enough, checks, count, stamp, refused, summary, ask, agreed, more, send,
  },
  includes: { review },
  edges: {
    names: "line",
    line: "write",
    write: "enough",
    enough: { more: loop("line", { max: 5, exhausted: end("kept") }), enough: "checks" },
    checks: parallel(["count", "stamp", "review"], { join: "summary" }),
    count: "summary",
    stamp: "summary",
    review: { approved: "summary", refused: "refused" },
    refused: "summary",
    summary: "ask",
    ask: "agreed",
    agreed: { yes: "send", no: "more" },
    more: { next: loop("line", { max: 1, exhausted: end("kept") }) },
    send: end("sent"),
  },
  exits: {
    sent: ({ output }) => ({ sent: output(send) === "sent", summary: output(summary) }),
    kept: ({ output }) => ({ sent: false, summary: output(summary) }),
  },
});
`,
};

/** Reads the note, finds its last line too short, and accepts that. */
export const reader: Rule = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === "tool") {
    const lines = textOf(last).trim().split("\n");
    return submits({ findings: [`"${lines.at(-1)}" is short`] });
  }
  const said = textOf(last);
  const file = /Read (\S+)\. What is wrong/.exec(said)?.[1];
  if (file !== undefined) return { calls: [{ name: "read", arguments: { path: file } }] };
  return submits({ choice: "yes", reason: said.includes("short") ? "short is fine" : "fine" });
};
