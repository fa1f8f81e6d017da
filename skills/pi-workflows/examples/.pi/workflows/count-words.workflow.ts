import { readFile } from "node:fs/promises";
import path from "node:path";
import { action, checkpoint, compute, decision, defineWorkflow, end } from "@osolmaz/pi-workflows";
import { z } from "zod";

const Input = z.object({ file: z.string(), most: z.int().positive() });

const read = action({
  input: Input,
  safety: "idempotent",
  output: z.string(),
  run: ({ input, project }) => readFile(path.resolve(project, input.file), "utf8"),
});

const count = compute({
  run: ({ output }) =>
    output(read)
      .split(/\s+/)
      .filter((word) => word !== "").length,
});

const ask = checkpoint({
  message: ({ output }) => `It has ${output(count)} words. Take it all the same?`,
  answer: z.object({ take: z.boolean() }),
});

const long = decision({
  input: Input,
  choices: ["yes", "no"],
  choose: ({ input, output }) => (output(count) > input.most ? "yes" : "no"),
});

/** Counts the words of a file, and asks a person where there are too many. */
export default defineWorkflow({
  name: "count-words",
  input: Input,
  output: z.object({ words: z.number() }),
  startAt: "read",
  nodes: { read, count, long, ask },
  edges: {
    read: "count",
    count: "long",
    long: { yes: "ask", no: end("done") },
    ask: end("done"),
  },
  exits: { done: ({ output }) => ({ words: output(count) }) },
});
