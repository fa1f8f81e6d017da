import { mkdirSync } from "node:fs";
import path from "node:path";
import { buildAll, Stage } from "../../e2e/stage.ts";
import type { ModelProvider } from "../../model-provider/stand-in.mjs";
import type { InstalledPi } from "./installed.ts";
import { createPiMachine, useModelProvider, type Lifetime, type PiMachine } from "./machine.ts";

/** A person's machine with pi-workflows and a real Pi, whose model the test plays. */
export type PiStage = { stage: Stage; machine: PiMachine; provider: ModelProvider };

/**
 * Builds everything, and sets a stage whose server finds `pi` on its PATH and as its user's the
 * folder of `machine`. The project, the server and the command line are those of `stage`.
 */
export async function setPiStage(test: Lifetime, pi: InstalledPi): Promise<PiStage> {
  buildAll();
  const provider = await useModelProvider(test);
  const machine = createPiMachine(test, { pi, modelUrl: provider.url });
  const { HOME, PI_CODING_AGENT_DIR, TMPDIR } = machine.env;
  const PATH = [pi.path, process.env.PATH].join(path.delimiter);
  const stage = new Stage(test, { HOME, PI_CODING_AGENT_DIR, TMPDIR, PATH });
  mkdirSync(path.join(stage.project, ".pi/workflows"), { recursive: true });
  return { stage, machine, provider };
}
