import { readinessOf } from "../model/readiness.ts";
import type { Client } from "../server/protocol.ts";
import type { Candidate, Names } from "./completion.ts";
import type { Link } from "./link.ts";

// Pi waits for a completion while one types.
const PATIENCE_MS = 700;
const MOST = 200;

/** The names that exist now, of the server; none where it does not run, since Tab starts nothing. */
export function liveNames(link: Link, project: string): Names {
  const ask = (question: (client: Client) => Promise<Candidate[]>): Promise<Candidate[]> => {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<Candidate[]>((resolve) => {
      timer = setTimeout(() => resolve([]), PATIENCE_MS);
    });
    const answer = link.ask(question, false).catch(() => []);
    return Promise.race([answer, late]).finally(() => clearTimeout(timer));
  };
  return {
    managers: () =>
      ask(async (client) =>
        (await client.managers(project)).map(({ name, path }) => ({ text: name, about: path })),
      ),
    keys: (manager) =>
      ask(async (client) => {
        const { items } = await client.list({ project, manager, limit: MOST });
        return items.map((item) => ({ text: item.metadata.key, about: stateOf(item) }));
      }),
    workflows: () =>
      ask(async (client) =>
        (await client.workflows(project)).map(({ name, path }) => ({ text: name, about: path })),
      ),
    runs: () =>
      ask(async (client) => {
        const { items } = await client.runs({ project, limit: MOST });
        return items.map(({ runId, workflow, state }) => ({
          text: runId,
          about: `${workflow}, ${state}`,
        }));
      }),
  };
}

function stateOf(item: Parameters<typeof readinessOf>[0]): string {
  const { ready, reason } = readinessOf(item);
  return `${ready === "True" ? "ready" : "not ready"} (${reason})`;
}
