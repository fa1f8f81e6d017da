import type { JournalInput } from "../../src/model/run.ts";
import type { PassHost } from "../../src/runner/port.ts";
import type { RunHost } from "../../src/runner/run-port.ts";
import type { Proc } from "./proc.ts";
import { never, type World } from "./world.ts";

const LATEST_MS = 15_000;

type Options = {
  world: World;
  server: Proc;
  proc: Proc;
  isSlow: boolean;
  /** Called where nothing comes over any more: what remains of the runner will be found. */
  onBroken: () => void;
};
/** What is sent one way: its latest message, after which the next one comes. */
type Direction = { latest: Promise<void> };

/**
 * What a runner and its server say to each other: in order, but late, or not at all from some message
 * on, as where one of the two hangs. What was sent arrives although its sender has died.
 */
export class Channel {
  readonly #options: Options;
  readonly #toServer: Direction = { latest: Promise.resolve() };
  readonly #toRunner: Direction = { latest: Promise.resolve() };
  #isBroken = false;

  constructor(options: Options) {
    this.#options = options;
  }

  /** The runner says something that needs no answer. */
  async tell(deliver: () => void): Promise<void> {
    await this.#carry(this.#toServer);
    if (this.#options.server.isAlive) deliver();
  }

  /** The server does. */
  async notify(deliver: () => void): Promise<void> {
    await this.#carry(this.#toRunner);
    if (this.#options.proc.isAlive) deliver();
  }

  passHost(host: PassHost): PassHost {
    return {
      beginEffect: this.#call("beginEffect", (request) => host.beginEffect(request)),
      settleEffect: this.#call("settleEffect", (settlement) => host.settleEffect(settlement), true),
      setFinalizer: async (name, present) =>
        this.#call("setFinalizer", () => host.setFinalizer(name, present), true)(undefined),
      emitEvent: this.#call("emitEvent", (event) => host.emitEvent(event), true),
      ensureWorkflow: this.#call("ensureWorkflow", (asked) => host.ensureWorkflow(asked), true),
      getWorkflow: this.#call("getWorkflow", (key) => host.getWorkflow(key)),
      cancelWorkflow: this.#call("cancelWorkflow", (key) => host.cancelWorkflow(key), true),
      log: (...line) => void this.tell(() => host.log(...line)),
      ...(host.secrets === undefined ? {} : { secrets: host.secrets }),
    };
  }

  runHost(host: RunHost): RunHost {
    return {
      beginEffect: this.#call("beginEffect", (request) => host.beginEffect(request)),
      settleEffect: this.#call("settleEffect", (settlement) => host.settleEffect(settlement), true),
      readJournal: async (after, limit) =>
        this.#call("readJournal", () => host.readJournal(after, limit))(undefined),
      appendJournal: this.#call("appendJournal", (lines) => {
        for (const line of lines) this.#options.world.trace(`journal ${told(line)}`);
        return host.appendJournal(lines);
      }),
      appendRunLog: this.#call("appendRunLog", (lines) => host.appendRunLog(lines)),
      runOrders: () => this.#call("runOrders", () => host.runOrders())(undefined),
      askAgent: this.#call("askAgent", (question) => host.askAgent(question)),
      closeAgent: this.#call("closeAgent", (name) => host.closeAgent(name)),
      log: (...line) => void this.tell(() => host.log(...line)),
      ...(host.secrets === undefined ? {} : { secrets: host.secrets }),
    };
  }

  /** `mayDouble`: that it arrives twice must make no difference. */
  #call<P, R>(
    name: string,
    handle: (params: P) => Promise<R>,
    mayDouble = false,
  ): (params: P) => Promise<R> {
    const { world, server, proc } = this.#options;
    return async (params) => {
      if (!proc.isAlive) return never();
      const sent = params === undefined ? params : structuredClone(params);
      await this.#carry(this.#toServer);
      if (!server.isAlive) return never();
      world.trace(`message ${name}`);
      const answer = settled(handle(sent));
      if (mayDouble && world.random.chance(world.faults.messageDoubled)) {
        world.note("message doubled");
        void settled(handle(sent));
      }
      const come = await server.awaiting(answer);
      await this.#carry(this.#toRunner);
      if (!proc.isAlive) return never();
      world.activity += 1;
      if ("thrown" in come) throw come.thrown;
      return come.value;
    };
  }

  /** Resolves when a message that is sent now has come over. */
  async #carry(direction: Direction): Promise<void> {
    const { world, isSlow } = this.#options;
    const { random, faults } = world;
    if (random.chance(faults.messageLost)) {
      if (!this.#isBroken) {
        world.note("runner hung");
        this.#options.onBroken();
      }
      this.#isBroken = true;
    }
    if (this.#isBroken) return never();
    const isLate = random.chance(isSlow ? 0.5 : faults.messageDelayed);
    const delay = isLate ? random.between(1, LATEST_MS) : 0;
    if (isLate) world.note("message late");
    const before = direction.latest;
    let arrive = (): void => undefined;
    direction.latest = new Promise((resolve) => (arrive = resolve));
    if (delay > 0) await world.sleep(delay);
    await before;
    if (this.#isBroken) await never();
    arrive();
  }
}

function told(line: JournalInput): string {
  return "node" in line ? `${line.event} ${line.node} ${line.visit}.${line.attempt}` : line.event;
}

async function settled<T>(promise: Promise<T>): Promise<{ value: T } | { thrown: unknown }> {
  try {
    return { value: await promise };
  } catch (thrown) {
    return { thrown };
  }
}
