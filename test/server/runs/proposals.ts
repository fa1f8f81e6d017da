import { hash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { WorkflowProposal } from "../../../src/model/graph.ts";
import { digestOf } from "../../../src/sources/digest.ts";
import { workflow } from "../scheduling.ts";

/**
 * A workflow of a project as a client proposes it, whose file is there. No runner can run it: `text`
 * stands for its code.
 */
export function propose(
  project: string,
  name: string,
  { text = "export default {};", ...more }: Partial<WorkflowProposal> & { text?: string } = {},
): WorkflowProposal {
  const file = path.join(project, `.pi/workflows/${name}.workflow.mjs`);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  const inputs = [{ path: file, sha256: hash("sha256", text, "hex") }];
  return {
    ...workflow(name),
    path: file,
    inputs,
    bundle: text,
    digest: digestOf(text, inputs),
    ...more,
  };
}
