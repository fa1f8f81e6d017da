import { existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Json } from "../../../src/model/canonical.ts";
import { textOf, type Rule } from "../../model-provider/stand-in.mjs";
import { submits } from "./agents.ts";

/**
 * A workflow with every kind of node. What a node does outside is a line in the run's own file of
 * `input.world`, with time before and after it in which a kill may come. Pure nodes note there how
 * often they were computed, which no workflow should; each note names the node and its how-manieth visit.
 */
export const KILL_WORKFLOW: Readonly<Record<string, string>> = {
  ".pi/workflows/tail.workflow.ts": `
import { appendFileSync } from "node:fs";
import { compute, decision, defineWorkflow, end } from "@osolmaz/pi-workflows";
import { z } from "zod";

const Input = z.object({ file: z.string(), word: z.string() });
const length = compute({
  input: Input,
  output: z.number(),
  run: ({ input, node }) => {
    appendFileSync(input.file, \`pure \${node} 1\\n\`);
    return input.word.length;
  },
});
const size = decision({ choices: ["short", "long"], choose: ({ output }) => (output(length) < 3 ? "short" : "long") });

export default defineWorkflow({
  name: "tail", input: Input, output: z.number(), startAt: "length", nodes: { length, size },
  edges: { length: "size", size: { short: end("short"), long: end("long") } },
  exits: { short: () => 0, long: ({ output }) => output(length) },
});
`,
  ".pi/workflows/all-kinds.workflow.ts": `
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import {
  action, agent, checkpoint, compute, decision, defineWorkflow, end, includeWorkflow, loop, parallel, shell,
} from "@osolmaz/pi-workflows";
import { z } from "zod";
import tailWorkflow from "./tail.workflow.ts";

const Input = z.object({ world: z.string(), id: z.string() });
const input = Input;
const fileOf = (ctx) => path.join(ctx.input.world, ctx.input.id);
const tell = (ctx, line) => {
  writeFileSync(fileOf(ctx) + ".runner", String(process.pid));
  appendFileSync(fileOf(ctx), line + "\\n");
};
const isDone = (ctx, line) => existsSync(fileOf(ctx)) && readFileSync(fileOf(ctx), "utf8").split("\\n").includes(line);
const pause = () => new Promise((done) => setTimeout(done, 60));
const act = async (ctx, line) => {
  writeFileSync(fileOf(ctx) + ".runner", String(process.pid));
  await pause();
  tell(ctx, line);
  await pause();
};
const effect = async (ctx, line) => {
  const { result } = await ctx.effects.ensure({
    key: line, kind: line, request: { id: ctx.input.id },
    observe: async () => (isDone(ctx, line) ? { state: "applied", result: line } : { state: "absent" }),
    apply: async () => {
      await act(ctx, line);
      return { result: line };
    },
  });
  return result;
};
const talk = { conversation: "talk", retry: { times: 6, delay: "1s" } };

const seed = compute({ input, run: (ctx) => (tell(ctx, "pure seed 1"), "seed") });
const count = compute({
  input, output: z.number(),
  run: (ctx) => {
    const next = (ctx.tryOutput(count) ?? 0) + 1;
    tell(ctx, "pure count " + next);
    return next;
  },
});
const more = decision({
  input, choices: ["more", "enough"],
  choose: (ctx) => {
    tell(ctx, "pure more " + ctx.output(count));
    return ctx.output(count) < 3 ? "more" : "enough";
  },
});
const twice = action({ input, safety: "pure", run: (ctx) => (tell(ctx, "pure twice 1"), ctx.output(count) * 2) });
const keyed = action({
  input, safety: "idempotent",
  run: async (ctx) => {
    await act(ctx, "keyed " + ctx.idempotencyKey);
    return "keyed";
  },
});
const opinion = agent({ input, prompt: "Is all well?", output: z.object({ well: z.boolean() }), ...talk });
const line = shell({
  input, shell: 'sleep 0.02; echo "$WORD" | tr a-z A-Z', env: (ctx) => ({ WORD: ctx.input.id }),
  safety: "idempotent", parse: ({ stdout }) => stdout.trim(),
});
const post = action({ input, safety: "idempotent", run: (ctx) => effect(ctx, "post") });
const sum = compute({ input, run: (ctx) => (tell(ctx, "pure sum 1"), ctx.output(opinion).well && ctx.output(line)) });
const good = decision({ choices: ["yes", "no"], prompt: "Is it good?", ...talk });
const pay = action({ input, safety: "manual", run: async (ctx) => (await act(ctx, "pay"), "pay") });
const sell = shell({
  input, command: (ctx) => ["/bin/sh", "-c", 'sleep 0.06; echo sell >> "$1"; sleep 0.06; echo sell', "sh", fileOf(ctx)],
  parse: ({ stdout }) => stdout.trim(),
});
const wire = action({ input, safety: "manual", run: (ctx) => effect(ctx, "wire") });
const ask = checkpoint({ input, message: (ctx) => "Go on with " + ctx.input.id + "?", answer: z.string() });
const tail = includeWorkflow(tailWorkflow, { input: (ctx) => ({ file: fileOf(ctx), word: ctx.input.id }) });

export default defineWorkflow({
  name: "all-kinds", input: Input, output: z.array(z.unknown()), startAt: "seed", deadline: "1h",
  nodes: { seed, count, more, twice, keyed, opinion, line, post, sum, good, pay, sell, wire, ask },
  includes: { tail },
  edges: {
    seed: "count",
    count: "more",
    more: { more: loop("count", { max: 5, exhausted: end("lost") }), enough: "twice" },
    twice: parallel(["keyed", "opinion", "line", "post"], { join: "sum" }),
    keyed: "sum", opinion: "sum", line: "sum", post: "sum",
    sum: "good",
    good: { yes: "pay", no: end("lost") },
    pay: "sell", sell: "wire", wire: "ask", ask: "tail",
    tail: { short: end("lost"), long: end("done") },
  },
  exits: {
    done: ({ output }) => [seed, count, twice, keyed, post, sum, good, pay, sell, wire, ask, tail].map(output),
    lost: () => [],
  },
});
`,
};

/** What a run hands over, whatever was killed while it ran. */
export function expectedOutput(id: string): Json {
  const outside = ["pay", "sell", "wire"];
  return [
    "seed",
    3,
    6,
    "keyed",
    "post",
    id.toUpperCase(),
    "yes",
    ...outside,
    `on with ${id}`,
    id.length,
  ];
}

/** Nodes in whose middle it is killed: such as act outside more often, as there the most can go wrong. */
export const KILLED_AT = {
  server: ["seed", "count", "twice", "keyed", "opinion", "line", "post", "good", "ask"].concat(
    "tail/length",
    "pay",
    "pay",
    "sell",
    "sell",
    "wire",
    "wire",
  ),
  runner: ["count", "keyed", "opinion", "post", "good"].concat(
    "pay",
    "pay",
    "sell",
    "wire",
    "wire",
  ),
  Pi: ["opinion", "good"],
};

/** What each run does outside at most once, in the order in which it does. */
export const ONCE = ["post", "pay", "sell", "wire"];

/** A model that is content at once. */
export const content: Rule = ({ messages }) =>
  textOf(messages.at(-1)).includes("good?")
    ? submits({ choice: "yes", reason: "it is" })
    : submits({ well: true });

/** Where runs act: what they did is to be read there, also by a person who must know. */
export class World {
  readonly folder: string;

  constructor(root: string) {
    this.folder = path.join(root, "world");
    mkdirSync(this.folder);
  }

  /** What a run did, in order. */
  lines(id: string): string[] {
    try {
      return readFileSync(path.join(this.folder, id), "utf8").trim().split("\n");
    } catch {
      return [];
    }
  }

  /** The runner that last did something for a run. */
  runner(id: string): number | undefined {
    const file = path.join(this.folder, `${id}.runner`);
    return existsSync(file) ? Number(readFileSync(file, "utf8")) : undefined;
  }

  times(id: string, line: string): number {
    return this.lines(id).filter((other) => other === line).length;
  }
}
