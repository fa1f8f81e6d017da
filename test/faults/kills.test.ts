import { beforeAll, expect, it, vi } from "vitest";
import { count } from "../support/figures.ts";
import { buildServer } from "../server/server-process.ts";
import { Killer } from "./kills.ts";
import { random, sized } from "./seeds.ts";

const KILLS = sized("KILLS", 100);
/** So many kills are one campaign, on a state folder of its own. */
const CAMPAIGN = 100;

// As long as a slow machine takes; what hangs is told by the campaign itself.
vi.setConfig({ testTimeout: 3_600_000 });
beforeAll(buildServer);

for (let from = 0; from < KILLS; from += CAMPAIGN) {
  const times = Math.min(CAMPAIGN, KILLS - from);
  it(`E-2, E-6, F-7, P-7: ${times} kills of server, runners and resolvers from seed ${from + 1}: every effect at most once, and once where it can be told`, async () => {
    const { kills, things, made, asked, breaches } = await new Killer(random(from + 1)).run(times);
    const { server, runner, resolver } = kills;
    count("kills of the server", server);
    count("kills of runners", runner);
    count("kills of resolvers", resolver);
    count("effects, each once", made);
    count("effects of which a person had to tell", asked);
    expect(breaches).toEqual([]);
    expect(made).toBe(things);
    expect(server + runner + resolver).toBeGreaterThanOrEqual(times);
  });
}
