import type { ManagerRecord } from "../../model/batch.ts";
import { toPiWorkflowsError } from "../../model/errors.ts";
import { byteLength, LIMITS } from "../../model/limits.ts";
import type { SourceOf } from "../../model/source.ts";
import type { Registry } from "../registry.ts";
import { askForKeys, wakeKeys, type SourceServices } from "./waker.ts";
import type { Answer, Incoming, WebhookRoutes } from "./webhook-server.ts";

type Options = SourceServices & {
  registry: Registry;
  /** Whether passes of this manager can run here. */
  isServed: (record: ManagerRecord) => boolean;
};
type Target = { record: ManagerRecord; index: number; source: SourceOf<"webhook"> };
type Taken = "taken" | "repeated" | "refused" | "failed";

const MINUTE = 60_000;

/**
 * Requests to webhooks: each goes to a runner of every accepted manager that declares a webhook of
 * that name, whose code verifies it and says which keys it is about. Nothing of a request is kept but
 * the id of its delivery.
 */
export class Webhooks implements WebhookRoutes {
  readonly #options: Options;
  /** By name: what is left of its rate, and since when. */
  readonly #rates = new Map<string, { left: number; at: number }>();
  /** By webhook and id: deliveries that are being taken now. */
  readonly #underWay = new Map<string, Promise<Taken>>();

  constructor(options: Options) {
    this.#options = options;
  }

  admit(name: string): 200 | 404 | 429 {
    // Only names that exist are counted, so that made-up ones take no room.
    if (this.#targets(name).length === 0) return 404;
    return this.#spend(name) ? 200 : 429;
  }

  async receive(name: string, incoming: Incoming): Promise<Answer> {
    const targets = this.#targets(name);
    const ids = targets.map(({ source }) => incoming.headers[source.deliveryHeader] ?? "");
    if (ids.some((id) => byteLength(id) > LIMITS.deliveryId)) {
      return { status: 400, word: "bad delivery id" };
    }
    const taken = await Promise.all(
      targets.map((target, index) => this.#deliver(target, ids[index] ?? "", incoming)),
    );
    return answerOf(taken);
  }

  #targets(name: string): Target[] {
    const { registry, isServed } = this.#options;
    return registry
      .all()
      .flatMap((record) =>
        isServed(record)
          ? record.sources.flatMap((source, index) =>
              source.kind === "webhook" && source.name === name ? [{ record, index, source }] : [],
            )
          : [],
      );
  }

  /** Takes one from the name's rate, which fills up again over a minute. */
  #spend(name: string): boolean {
    const now = this.#options.clock.monotonic();
    const rate = this.#rates.get(name) ?? { left: LIMITS.webhookRate, at: now };
    const filled = rate.left + ((now - rate.at) / MINUTE) * LIMITS.webhookRate;
    const left = Math.min(LIMITS.webhookRate, filled);
    const isFree = left >= 1;
    this.#rates.set(name, { left: isFree ? left - 1 : left, at: now });
    return isFree;
  }

  /** A repeat that arrives while the first is under way waits to see whether that was good. */
  async #deliver(target: Target, id: string, incoming: Incoming): Promise<Taken> {
    if (id === "") return this.#take(target, "", incoming);
    const place = `${target.record.lane} ${target.index} ${id}`;
    for (let first = this.#underWay.get(place); first; first = this.#underWay.get(place)) {
      await first;
    }
    const taking = this.#take(target, id, incoming);
    this.#underWay.set(place, taking);
    try {
      return await taking;
    } finally {
      this.#underWay.delete(place);
    }
  }

  /** Never rejects. */
  async #take({ record, index, source }: Target, id: string, incoming: Incoming): Promise<Taken> {
    const { store, log } = this.#options;
    const fields = { project: record.project, manager: record.name, webhook: source.name };
    // Each manager verifies for itself, so each remembers for itself.
    const remembered = `${record.lane}:${source.name}`;
    try {
      if (id !== "" && (await store.isDelivered(remembered, id))) return "repeated";
      const asked = { kind: "webhook", ...incoming } as const;
      const outcome = await askForKeys(this.#options, record, index, asked);
      if (outcome.kind === "refused") {
        log.warn("A webhook was refused", { ...fields, reason: outcome.message });
        return "refused";
      }
      if (outcome.kind !== "keys") {
        const { kind, message } = outcome;
        log.warn("A webhook could not be mapped", { ...fields, outcome: kind, reason: message });
        return "failed";
      }
      const cause = `webhook:${source.name}` as const;
      const woken = await wakeKeys(this.#options, record, outcome.keys, { cause });
      if (id !== "") await store.recordDelivery(remembered, id);
      log.info("A webhook was taken", { ...fields, delivery: id, woken });
      return "taken";
    } catch (thrown) {
      log.warn("A webhook could not be taken", { ...fields, error: toPiWorkflowsError(thrown) });
      return "failed";
    }
  }
}

/** A failure wins, so that the sender tries again; what was taken is not taken twice. */
function answerOf(taken: readonly Taken[]): Answer {
  if (taken.includes("failed")) return { status: 500, word: "failed" };
  if (taken.includes("taken")) return { status: 200, word: "taken" };
  if (taken.includes("repeated")) return { status: 200, word: "repeated" };
  return { status: 401, word: "unauthorized" };
}
