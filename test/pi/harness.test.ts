import { describe, expect, it } from "vitest";
import { PIS } from "./support/installed.ts";
import { createPiMachine, MODEL_KEY, useModelProvider } from "./support/machine.ts";
import { startPi } from "./support/rpc.ts";

describe.each(PIS)("Pi $version from npm", (pi) => {
  it("answers by a model on this machine, in the protocol that OpenAI publishes", async (test) => {
    const provider = await useModelProvider(test);
    const machine = createPiMachine(test, { pi, modelUrl: provider.url });
    const session = await startPi(test, { pi, machine });

    const records = await session.prompt('call:bash {"command":"echo from a shell"}');

    const ended = records.find(({ type }) => type === "agent_end");
    expect(JSON.stringify(ended)).toContain("The tool said: from a shell");
    expect(provider.requests.map(({ key }) => key)).toEqual(Array(2).fill(`Bearer ${MODEL_KEY}`));
    expect(await session.close()).toBe(0);
  });
});
