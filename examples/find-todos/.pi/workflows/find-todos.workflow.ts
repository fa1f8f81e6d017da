import { writeFile } from "node:fs/promises";
import path from "node:path";
import { action, decision, defineWorkflow, end, shell } from "@osolmaz/pi-workflows";
import { z } from "zod";

const Input = z.object({ folder: z.string() });

const search = shell({
  input: Input,
  safety: "idempotent",
  command: ({ input }) => ["grep", "-rn", "TODO", input.folder],
  exitCodes: [0, 1], // 1: grep has found nothing
  parse: ({ stdout }) => stdout.split("\n").filter((line) => line !== ""),
});

const judge = decision({
  choices: ["found", "clean"],
  choose: ({ output }) => (output(search).length > 0 ? "found" : "clean"),
});

const report = action({
  safety: "idempotent",
  timeout: "10s",
  run: async ({ output, project }) => {
    const file = path.join(project, "todos.txt");
    await writeFile(file, output(search).join("\n"));
    return file;
  },
});

export default defineWorkflow({
  name: "find-todos",
  input: Input,
  output: z.object({ todos: z.number(), file: z.string().optional() }),
  startAt: "search",
  nodes: { search, judge, report },
  edges: {
    search: "judge",
    judge: { found: "report", clean: end("clean") },
    report: end("reported"),
  },
  exits: {
    clean: () => ({ todos: 0 }),
    reported: ({ output }) => ({ todos: output(search).length, file: output(report) }),
  },
});
