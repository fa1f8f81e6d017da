import { canonicalJson, fingerprintText } from "../../src/model/canonical.ts";
import type { SpecWrite } from "../../src/model/batch.ts";
import type { ResourceRef } from "../../src/model/resource.ts";
import { hasEnded, type StoredRun } from "../../src/model/run.ts";
import { PiWorkflowsError } from "../../src/model/errors.ts";
import { MANAGERS, PROJECT, providerKeyOf, WORKFLOWS, type ThingSpec } from "./programs.ts";
import type { Machine, SimulatedServer } from "./server.ts";

const KEYS = ["a", "b", "c"];
const ORIGIN = { owner: { kind: "person" as const, name: "ann" } };

/** What people do, as often as these say. */
const DEEDS = {
  put: 30,
  delete: 6,
  forceDelete: 1,
  suspend: 4,
  resume: 6,
  reconcile: 6,
  start: 12,
  answer: 12,
  cancel: 4,
  pauseRun: 3,
  resumeRun: 6,
  retry: 3,
  resolveEffect: 3,
  resolveRun: 4,
  repair: 1,
  newWorkflow: 1,
  newManager: 1,
  commit: 8,
};

/** People at their terminals: they do what comes to their minds, and forget about it. */
export class Clients {
  readonly #machine: Machine;
  #server: SimulatedServer;

  constructor(machine: Machine, server: SimulatedServer) {
    this.#machine = machine;
    this.#server = server;
  }

  /** They talk to this server from now on. */
  talkTo(server: SimulatedServer): void {
    this.#server = server;
  }

  /** Somebody does something, whether there is a server or not. */
  act(): void {
    const deed = this.#machine.world.random.weighted(DEEDS);
    this.#try(deed, () => this.#do(deed));
  }

  /**
   * Everything is put into the hands of people who care: what waits for a person gets one, and what was
   * given up is tried again.
   */
  async mend(): Promise<void> {
    for (const manager of MANAGERS) {
      for (const key of [...KEYS, "s1", "s2", "s3"]) {
        const ref = { project: PROJECT, resourceManager: manager, key };
        const stored = await this.#server.store.get(ref);
        if (stored?.suspended) await this.#server.routes.suspend({ ref, suspended: false });
        if (stored) await this.#server.routes.reconcile({ target: ref });
      }
    }
    for (const effect of await this.#server.routes.effects({ open: true })) {
      if (effect.parked) await this.#resolveEffect(effect.resourceUid, effect.key);
    }
    for (const run of await this.#openRuns()) {
      if (run.paused || run.state === "interrupted") {
        this.#try("mend", () => this.#resumeOrResolve(run));
      }
    }
  }

  #try(deed: string, work: () => Promise<unknown>): void {
    const { world } = this.#machine;
    world.trace(`client ${deed}`);
    if (!this.#server.isUp) return;
    work().catch((thrown: unknown) => {
      // What the server refuses is the client's; anything else is a mistake.
      const { code, message } = thrown as PiWorkflowsError;
      world.trace(`client ${deed} refused: ${message}`);
      if (!(thrown instanceof PiWorkflowsError) || code === "INTERNAL") {
        this.#machine.oracle.fail(`a client's ${deed} failed: ${String(thrown)}`);
      }
    });
  }

  async #do(deed: keyof typeof DEEDS): Promise<unknown> {
    const { world, versions, oracle } = this.#machine;
    const { random } = world;
    const { routes } = this.#server;
    const ref = this.#someRef();
    switch (deed) {
      case "put":
        return this.#put(ref);
      case "delete":
      case "forceDelete":
        return routes.delete({ ref, origin: ORIGIN, force: deed === "forceDelete" });
      case "suspend":
      case "resume": {
        const stored = await routes.suspend({ ref, suspended: deed === "suspend" });
        const { uid, resourceVersion } = stored.resource.metadata;
        oracle.acknowledged(uid, resourceVersion);
        return undefined;
      }
      case "reconcile":
        return routes.reconcile({ target: ref });
      case "repair":
        return routes.repair({});
      case "start": {
        const workflow = random.pick(WORKFLOWS);
        const input = { ask: random.chance(0.5) };
        const requestKey = random.chance(0.5) ? { requestKey: `r${random.between(1, 3)}` } : {};
        return routes.startRun({ project: PROJECT, workflow, input, ...requestKey });
      }
      case "commit":
        this.#machine.repository?.commit(true);
        return undefined;
      case "newWorkflow":
      case "newManager": {
        const name = deed === "newWorkflow" ? random.pick(WORKFLOWS) : random.pick(MANAGERS);
        versions.set(name, (versions.get(name) ?? 1) + 1);
        if (deed === "newManager") return undefined;
        return routes.acceptWorkflows({ project: PROJECT, proposals: [{ name } as never] });
      }
      case "resolveEffect": {
        const open = (await routes.effects({ open: true })).filter(({ parked }) => parked);
        const effect = open.length > 0 ? random.pick(open) : undefined;
        return effect && this.#resolveEffect(effect.resourceUid, effect.key);
      }
      default:
        return this.#orderRun(deed);
    }
  }

  async #orderRun(
    deed: "answer" | "cancel" | "pauseRun" | "resumeRun" | "retry" | "resolveRun",
  ): Promise<unknown> {
    const { routes } = this.#server;
    const { random } = this.#machine.world;
    const { items } = await this.#server.store.runs({});
    if (items.length === 0) return undefined;
    const { runId } = random.pick(items);
    switch (deed) {
      case "answer":
        return routes.answerRun({ runId, node: "question", value: { again: random.chance(0.3) } });
      case "cancel":
        return routes.cancelRun({ runId });
      case "pauseRun":
        return routes.pauseRun({ runId });
      case "resumeRun":
        return routes.resumeRun({ runId });
      case "retry":
        return routes.retryRun({ runId });
      case "resolveRun": {
        const run = await routes.run({ runId });
        return run.reason === "Ambiguous" ? this.#resumeOrResolve(run) : undefined;
      }
    }
  }

  async #put(ref: ResourceRef): Promise<void> {
    const { world, oracle } = this.#machine;
    const { random } = world;
    const stored = await this.#server.store.get(ref);
    // Somebody else may come between.
    if (random.chance(0.2)) await this.#server.proc.sleep(random.between(0, 50));
    const spec: ThingSpec = {
      size: random.between(1, 4),
      opaque: random.chance(0.15),
      asks: random.chance(0.5),
      ...(random.chance(0.4) ? { run: random.pick(WORKFLOWS) } : {}),
    };
    const expected = stored?.resource.metadata.resourceVersion ?? 0;
    const change = { manager: ref.resourceManager, key: ref.key, write: writeOf(spec) };
    const receipt = await this.#server.routes.commit({
      project: PROJECT,
      changes: [
        expected === 0
          ? { kind: "create", expected, ...change }
          : { kind: "update", expected, ...change },
      ],
    });
    for (const { uid, resourceVersion } of receipt.items) oracle.acknowledged(uid, resourceVersion);
  }

  /** A person looks at what the provider's own log says, and tells. */
  async #resolveEffect(uid: string, key: string): Promise<void> {
    const isRun = key === "ledgered";
    const providerKey = isRun ? `${uid}/ledgered/effect` : providerKeyOf(uid, key);
    const isDone = this.#machine.provider.count(providerKey) > 0;
    const outcome = isDone
      ? { state: "applied" as const, externalRef: "by hand" }
      : { state: "rejected" as const, reason: "it was not done" };
    await this.#server.routes.resolveEffect({ uid, key, outcome });
  }

  async #resumeOrResolve(run: StoredRun): Promise<unknown> {
    const { routes, store } = this.#server;
    const { runId } = run;
    if (run.reason !== "Ambiguous") return routes.resumeRun({ runId });
    const journal = await store.journal(runId, { limit: 500 });
    const last = journal.findLast((entry) => entry.event === "ambiguous");
    if (last?.event !== "ambiguous") return undefined;
    // As the provider's log says; a person who looks sees what was done.
    return routes.resolveRun({
      runId,
      visit: last.visit,
      resolution: { outcome: "succeeded", output: "by hand" },
    });
  }

  async #openRuns(): Promise<StoredRun[]> {
    const { items } = await this.#server.store.runs({ open: true });
    const runs: StoredRun[] = [];
    for (const { runId } of items) {
      const run = await this.#server.store.run(runId);
      if (run && !hasEnded(run)) runs.push(run);
    }
    return runs;
  }

  #someRef(): ResourceRef {
    const { random } = this.#machine.world;
    const resourceManager = random.chance(0.75) ? "thing" : "poll";
    const isSynced = this.#machine.repository !== undefined && random.chance(0.2);
    const key = isSynced ? random.pick(["s1", "s2"]) : random.pick(KEYS);
    return { project: PROJECT, resourceManager: isSynced ? "thing" : resourceManager, key };
  }
}

function writeOf(spec: ThingSpec): SpecWrite {
  const text = canonicalJson(spec);
  return {
    spec: text,
    specHash: fingerprintText(text),
    initialStatus: "{}",
    labels: {},
    dependsOn: [],
    prunable: true,
    suspended: false,
    origin: ORIGIN,
  };
}
