import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { StoredEffect } from "../../src/model/effect.ts";
import type { ApplyChange } from "../../src/model/batch.ts";
import { specWrite } from "../store/words.ts";
import { makeProject } from "../server/server-process.ts";
import { makeThing, startProvider, type Provider } from "./provider.ts";
import { FaultyServer, send } from "./server.ts";

export type Victim = "server" | "runner" | "resolver";
/** What a campaign did and found. */
export type Campaign = {
  kills: Record<Victim, number>;
  /** Things asked for, those made, and of which a person had to say what became of them. */
  things: number;
  made: number;
  asked: number;
  /** Each breach of a promise, with the kill after which it was seen. */
  breaches: string[];
};

const SHARES: readonly [Victim, number][] = [
  ["server", 0.2],
  ["resolver", 0.25],
  ["runner", 0.55],
];
const MANAGER = "maker";
/** How often a server is killed again while it starts, and how long into its start at most. Milliseconds. */
const AGAIN = 0.5;
const START_MS = 400;
/** The longest wait for a moment at which there is somebody to kill, and past it. Milliseconds. */
const LOOK_MS = 5_000;
const LATER_MS = 60;
const SETTLE_MS = 120_000;

/** Kills by chance, as long as asked; work comes in meanwhile, a little before each kill. */
export class Killer {
  readonly #random: () => number;
  readonly #server = new FaultyServer();
  readonly #project = makeProject({ [MANAGER]: makeThing });
  readonly #kills = { server: 0, runner: 0, resolver: 0 };
  readonly #breaches: string[] = [];
  #provider!: Provider;
  #things = 0;
  #asked = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  async run(kills: number): Promise<Campaign> {
    this.#provider = await startProvider();
    mkdirSync(path.join(this.#project, ".pi/resources"), { recursive: true });
    this.#save();
    await this.#server.start();
    await this.#server.client.syncEnable({ project: this.#project, workingTree: true });
    await this.#server.client.syncNow(this.#project);
    while (this.#killed < kills) {
      const victim = this.#choose();
      if (victim === "resolver") this.#save();
      else await this.#want();
      await this.#kill(victim);
    }
    await this.#settle();
    this.#check();
    const made = this.#provider.made().size;
    const { code, signal } = await this.#server.end("SIGTERM");
    if (code !== 0) this.#breaches.push(`the stop ended with ${code ?? signal}`);
    return {
      kills: this.#kills,
      things: this.#things,
      made,
      asked: this.#asked,
      breaches: this.#breaches,
    };
  }

  /** Commits things that can be looked at, and one that can't. */
  async #want(): Promise<void> {
    const changes = [true, true, true, false].map((seen): ApplyChange => {
      const write = specWrite({ url: this.#provider.url, seen });
      return { kind: "create", manager: MANAGER, key: this.#next(), write, expected: 0 };
    });
    await this.#server.client.commit({ project: this.#project, changes });
  }

  /** Saves a spec, which is loaded by a resolver. */
  #save(): void {
    const key = this.#next();
    const manifest = {
      resourceManager: MANAGER,
      key,
      spec: { url: this.#provider.url, seen: true },
    };
    const file = path.join(this.#project, `.pi/resources/${key}.resource.json`);
    writeFileSync(file, JSON.stringify(manifest));
  }

  #next(): string {
    this.#things += 1;
    return `t${this.#things}`;
  }

  #choose(): Victim {
    let chance = this.#random();
    for (const [victim, share] of SHARES) if ((chance -= share) < 0) return victim;
    return "server";
  }

  async #kill(victim: Victim): Promise<void> {
    const later = this.#random() * LATER_MS;
    if (victim === "server") {
      await sleep(later);
      await this.#killServer();
      while (this.#random() < AGAIN) {
        await this.#server.launch();
        await sleep(this.#random() * START_MS);
        await this.#killServer();
      }
      await this.#server.start();
      return;
    }
    const alive = () => (victim === "runner" ? this.#server.runners() : this.#server.resolvers());
    const until = performance.now() + LOOK_MS;
    while (alive().length === 0) {
      // Nobody there: it is the server's turn, so that each round kills.
      if (performance.now() > until) return this.#kill("server");
      await sleep(1);
    }
    await sleep(later * this.#random());
    const all = alive();
    const one = all[Math.floor(this.#random() * all.length)];
    if (one === undefined || !send(one, "SIGKILL")) return this.#kill(victim);
    this.#kills[victim] += 1;
    this.#check();
  }

  async #killServer(): Promise<void> {
    await this.#server.end("SIGKILL");
    this.#kills.server += 1;
    this.#check();
  }

  get #killed(): number {
    const { server, runner, resolver } = this.#kills;
    return server + runner + resolver;
  }

  /** After each kill: the database is sound, and by the provider's log each thing was made at most once. */
  #check(): void {
    for (const what of this.#server.damage()) {
      this.#breaches.push(`damage after kill ${this.#killed}: ${what}`);
    }
    for (const [id, times] of this.#provider.made()) {
      if (times > 1) this.#breaches.push(`${id} was made ${times} times by kill ${this.#killed}`);
    }
  }

  /** Everything comes to rest; a person says of what can't be told whether it was done. */
  async #settle(): Promise<void> {
    const { client } = this.#server;
    const project = this.#project;
    await client.syncNow(project);
    const deadline = performance.now() + SETTLE_MS;
    for (let left = Number.POSITIVE_INFINITY; left > 0; await sleep(50)) {
      for (const effect of await client.effects({ project, open: true, limit: 1_000 })) {
        if (effect.parked) await this.#judge(effect);
      }
      // What waits after a crash, or was given up after many, is looked at now.
      await client.reconcile({ project, resourceManager: MANAGER });
      left = (await client.list({ project, notReady: true, limit: 1_000 })).items.length;
      if (performance.now() > deadline) {
        this.#breaches.push(`${left} things never came to rest`);
        return;
      }
    }
    const { resources } = await client.snapshot(project);
    if (resources.length !== this.#things) {
      this.#breaches.push(`${resources.length} resources of ${this.#things}`);
    }
    const made = this.#provider.made();
    for (const { key } of resources) {
      const times = made.get(`${key}:1`) ?? 0;
      if (times !== 1) this.#breaches.push(`${key} is Ready, and was made ${times} times`);
    }
    for (const { state, key } of await client.effects({ project, limit: 1_000 })) {
      if (state !== "applied") this.#breaches.push(`effect ${key} ended as ${state}`);
    }
  }

  /** What was not made is made by hand. */
  async #judge({ resourceUid, key, request }: StoredEffect): Promise<void> {
    const { id } = request as { id: string };
    this.#asked += 1;
    if (!this.#provider.made().has(id)) {
      await fetch(`${this.#provider.url}/things/${id}`, { method: "POST" });
    }
    await this.#server.client.resolveEffect(resourceUid, key, { state: "applied" });
  }
}
