import { expect, it } from "vitest";
import { Memory } from "../../src/extension/memory.ts";
import type { Ui } from "../../src/extension/pi.ts";
import { Presence } from "../../src/extension/presence.ts";
import type { Session } from "../../src/extension/session.ts";
import { DEFAULTS } from "../../src/extension/settings.ts";
import { summary } from "./resources.ts";

it("a resource that was ready before the session remembered that it applied it is told of", async () => {
  const resource = summary("a", { ready: true });
  const end = new AbortController();
  const client = {
    queue: async () => [],
    async *watch() {
      yield { kind: "present", resource };
      yield { kind: "listed" };
      await new Promise((done) => {
        end.signal.addEventListener("abort", done);
      });
    },
  };
  const link = {
    closed: end.signal,
    client: () => client,
    ask: (question: (one: unknown) => unknown) => question(client),
  };
  const memory = new Memory([], () => undefined);
  const session = { link, memory, project: "/p", settings: DEFAULTS } as unknown as Session;
  const told = new Promise<string>((tell, onTrouble) => {
    const ui = {
      setStatus() {
        // All was seen; only now does the command that applied it end.
        const { uid, resourceManager, key } = resource.metadata;
        setImmediate(() =>
          memory.applied([{ uid, project: "/p", resourceManager, key, generation: 1 }]),
        );
      },
      setWidget() {},
    } as unknown as Ui;
    const mayTell = () => true;
    const presence = new Presence({ session, ui, tui: false, tell, mayTell, onTrouble });
    void presence.run();
  });
  expect(await told).toBe("greeting a is ready (Written)");
  end.abort();
});
