import { Clients } from "./clients.ts";
import { emptyDatabase } from "../support/memory-database.ts";
import { drawFaults, NO_FAULTS, type Happening } from "./faults.ts";
import { Oracle } from "./oracle.ts";
import { Provider } from "./provider.ts";
import { Repository } from "./repository.ts";
import { SimulatedServer, type Machine } from "./server.ts";
import { settledProblems } from "./settled-rules.ts";
import { World } from "./world.ts";

/** How one simulation went. */
export type Simulated = {
  seed: number;
  /** Of all that happened: the same for each run of a seed. */
  digest: string;
  simulatedMs: number;
  points: number;
  operations: number;
  calls: number;
  faults: ReadonlyMap<Happening, number>;
  /** What did not hold. */
  problems: string[];
};

const DEEDS = 30;
const MINUTE = 60_000;

/** Plays one seed: a time of faults, and a time in which everything must come to rest. */
export async function simulate(seed: number, trace?: (line: string) => void): Promise<Simulated> {
  const restore = withoutRealTime(() => world.monotonic());
  const world = new World(seed, trace);
  const simulation = new Simulation(world);
  try {
    const problems = await simulation.play();
    const { oracle, provider } = simulation.machine;
    return {
      seed,
      digest: world.digest(),
      simulatedMs: world.now(),
      points: world.points,
      operations: oracle.operations,
      calls: provider.log.length,
      faults: world.happened,
      problems,
    };
  } finally {
    await simulation.end();
    restore();
  }
}

class Simulation {
  readonly machine: Machine;
  readonly #world: World;
  readonly #clients: Clients;
  #server: SimulatedServer;
  #opensAt: number | undefined;

  constructor(world: World) {
    this.#world = world;
    const oracle = new Oracle(world);
    this.machine = {
      world,
      provider: new Provider(world, oracle),
      oracle,
      database: emptyDatabase(),
      working: new Map(),
      versions: new Map(),
      repository: world.random.chance(0.4) ? new Repository(world) : undefined,
    };
    this.#server = new SimulatedServer(this.machine);
    this.#clients = new Clients(this.machine, this.#server);
  }

  async play(): Promise<string[]> {
    const { random } = this.#world;
    const { oracle } = this.machine;
    void this.#server.start();
    await this.#world.rest();
    const faults = drawFaults(random);
    this.#world.faults = { ...faults, statement: 0 };
    for (let deed = 0; deed < DEEDS && !oracle.violation; deed += 1) {
      this.#clients.act();
      await this.#pass(random.weighted({ 0: 3, 50: 3, 5000: 3, 60000: 0.7, 600000: 0.05 }));
      if (random.chance(faults.clockJump)) this.#world.jump(jumpOf(random));
      if (random.chance(faults.suspend)) await this.#world.suspend(random.between(1, 30 * MINUTE));
      const isTroubled = random.chance(faults.diskTrouble);
      this.#world.faults = { ...faults, statement: isTroubled ? faults.statement : 0 };
    }
    if (oracle.violation) return [oracle.violation];
    return this.#settle();
  }

  async end(): Promise<void> {
    this.#server.proc.die();
    await this.#world.rest();
    this.#server.close();
  }

  /** The faults end, people care, and everything must come to rest. */
  async #settle(): Promise<string[]> {
    const { oracle } = this.machine;
    this.#world.faults = NO_FAULTS;
    this.#world.trace("the faults end");
    this.machine.repository?.mend();
    // What hangs is found by its deadline; what waits, at the longest backoff, unless somebody asks.
    await this.#pass(this.#world.random.chance(0.2) ? 11 * MINUTE : MINUTE);
    let problems: string[] = [];
    for (let round = 0; round < 8; round += 1) {
      void this.#clients.mend();
      await this.#pass(round === 0 ? MINUTE : 5 * MINUTE);
      problems = oracle.violation ? [oracle.violation] : settledProblems(this.machine);
      if (problems.length === 0) break;
    }
    return problems;
  }

  async #pass(ms: string | number): Promise<void> {
    await this.#world.advance(Number(ms), () => this.#between());
  }

  /** After all that a timer caused has happened: what else may. */
  async #between(): Promise<void> {
    const { random, faults } = this.#world;
    await this.#restart();
    if (!this.#server.isUp) return;
    if (random.chance(faults.killRunner)) this.#server.runner.killOne();
    if (!random.chance(faults.crash)) return;
    if (random.chance(0.3)) this.#server.die();
    else this.#server.dieAfter(random.between(1, 60));
    await this.#world.rest();
    await this.#restart();
  }

  /** Starts a new server after the one that died. */
  async #restart(): Promise<void> {
    const { random } = this.#world;
    const server = this.#server;
    if (server.proc.isAlive && !server.hasFailed) return;
    if (this.#opensAt === undefined) {
      await this.#world.rest();
      server.close();
      this.#opensAt = this.#world.now() + random.between(0, 5_000);
      this.#world.schedule(() => this.#open(), this.#opensAt - this.#world.now());
    }
  }

  #open(): void {
    this.#opensAt = undefined;
    this.#server = new SimulatedServer(this.machine);
    this.#clients.talkTo(this.#server);
    void this.#server.start();
  }
}

const JUMPS_MS = [-24 * 60 * MINUTE, -10 * MINUTE, -1_000, 1_000, 5 * MINUTE, 60 * MINUTE];

function jumpOf(random: World["random"]): number {
  return random.pick(JUMPS_MS);
}

/** Real time and chance are not part of a simulation: whoever asks for them is told so. */
function withoutRealTime(monotonic: () => number): () => void {
  const real = {
    now: Date.now,
    random: Math.random,
    performance: performance.now.bind(performance),
  };
  const refuse = (what: string) => (): never => {
    throw new Error(`${what} in a simulation`);
  };
  performance.now = monotonic;
  Date.now = refuse("Date.now");
  Math.random = refuse("Math.random");
  return () => {
    performance.now = real.performance;
    Date.now = real.now;
    Math.random = real.random;
  };
}
