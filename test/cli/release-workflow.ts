/**
 * A workflow with a node of each kind that a person meets: its command waits while there is a file
 * `hold` and fails where there is one `broken`, its manual action ends its runner where there is a file `crash`, and is undone by a file.
 */
export const RELEASE = `
import { existsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { action, checkpoint, compute, decision, defineWorkflow, end, shell } from "@osolmaz/pi-workflows";
import { z } from "zod";

const input = z.object({
  version: z.string(),
  token: z.string().meta({ secret: true }).optional(),
});
const plan = compute({ input, run: ({ input }) => "release " + input.version });
const build = shell({
  command: ["sh", "-c", "echo building; while test -e hold; do sleep 0.05; done; printf '\\\\033[31mred\\\\033[0m\\\\n'; test ! -e broken"],
  safety: "idempotent",
});
const ask = checkpoint({
  message: ({ output }) => output(plan) + "?",
  answer: z.object({ ok: z.boolean(), why: z.string().optional() }),
});
const good = decision({ choices: ["yes", "no"], choose: ({ output }) => output(ask).ok ? "yes" : "no" });
const publish = action({
  input,
  safety: "manual",
  output: z.object({ id: z.number() }),
  run: async ({ log, input, project }) => {
    log.info("publishing with " + input.token);
    if (existsSync(path.join(project, "crash"))) process.kill(process.pid, "SIGKILL");
    return { id: 7 };
  },
  compensate: ({ project }) => writeFileSync(path.join(project, "unpublished"), "yes"),
});
const announce = checkpoint({ message: "Announce it where?", answer: z.enum(["everywhere", "nowhere"]) });

export default defineWorkflow({
  name: "release",
  input,
  output: z.object({ announced: z.string() }),
  startAt: "plan",
  nodes: { plan, build, ask, good, publish, announce },
  edges: {
    plan: "build",
    build: "ask",
    ask: "good",
    good: { yes: "publish", no: end("refused") },
    publish: "announce",
    announce: end("done"),
  },
  exits: {
    done: ({ output }) => ({ announced: output(announce) }),
    refused: () => ({ announced: "nowhere" }),
  },
});
`;
