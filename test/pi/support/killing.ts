import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "../../../src/server/client.ts";
import type { Client } from "../../../src/server/protocol.ts";
import { signal, type ServerHandle, type Stage } from "../../e2e/stage.ts";

export const VICTIMS = ["server", "runner", "Pi"] as const;
export type Victim = (typeof VICTIMS)[number];

/** Around a kill. */
export type Kill = { wanted?: number; isOver: () => boolean; look: () => Promise<void> };

/** How often the state is looked at. Milliseconds. */
export const LOOK_MS = 20;

/** Kills processes of a stage with SIGKILL, and starts its server anew where that was one. */
export class Killing {
  /** What was killed, in order. */
  readonly log: string[] = [];
  readonly #stage: Stage;
  readonly #random: () => number;
  #server: ServerHandle;
  /** Changes with every kill of a server: what was asked of it meanwhile may have been lost. */
  #servers = 1;
  /** Resolves when there is a server again. */
  #serving: Promise<void> = Promise.resolve();

  private constructor(stage: Stage, random: () => number, server: ServerHandle) {
    this.#stage = stage;
    this.#random = random;
    this.#server = server;
  }

  static async begin(stage: Stage, random: () => number): Promise<Killing> {
    return new Killing(stage, random, await stage.startServer());
  }

  times(victim: Victim): number {
    return this.log.filter((line) => line.startsWith(victim)).length;
  }

  /**
   * Kills one, if possible the process `wanted`; `look` is called before anything follows from it. Waits
   * until there is one to kill, or until nothing is left to be done.
   */
  async kill(victim: Victim, { wanted, isOver, look }: Kill): Promise<void> {
    if (victim === "server") {
      this.#serving = this.#serving.then(() => this.#killServer(look));
      return this.#serving;
    }
    for (; !isOver(); await sleep(5 * LOOK_MS)) {
      const alive = this.#alive(victim);
      const any = alive[Math.floor(this.#random() * alive.length)];
      const pid = alive.find((one) => one === wanted) ?? any;
      if (pid === undefined) continue;
      signal(pid, "SIGKILL");
      this.log.push(`${victim} ${pid}`);
      return look();
    }
  }

  /** Asks the server; again where it was killed meanwhile. @throws what it answers else */
  async ask<T>(question: (client: Client) => Promise<T>): Promise<T> {
    for (;;) {
      const before = await this.#untilServing();
      let client: Client | undefined;
      try {
        client = await connect({ home: this.#stage.home });
        return await question(client);
      } catch (thrown) {
        if (before === this.#servers) throw thrown;
      } finally {
        await client?.close();
      }
    }
  }

  /** Resolves when there is a server and no kill of it under way; which it is. */
  async #untilServing(): Promise<number> {
    let awaited: Promise<void>;
    do {
      awaited = this.#serving;
      await awaited;
    } while (awaited !== this.#serving);
    return this.#servers;
  }

  async #killServer(look: () => Promise<void>): Promise<void> {
    const { pid, ended } = this.#server;
    this.#servers += 1;
    signal(pid, "SIGKILL");
    await ended;
    this.log.push(`server ${pid}`);
    await look();
    this.#server = await this.#stage.startServer();
  }

  /** Runners and agents that the server has noted. */
  #alive(victim: "runner" | "Pi"): number[] {
    const folder = path.join(this.#stage.home, "runners");
    const noted = existsSync(folder) ? readdirSync(folder) : [];
    const pids = noted.map((file) => Number.parseInt(file, 10));
    return commandsOf(pids).flatMap(({ pid, words }) => {
      const isRunner = words.includes("pi-workflows runner") || words.includes("runner/child.js");
      return isRunner === (victim === "runner") ? [pid] : [];
    });
  }
}

/** Those that are alive, each with its arguments. */
function commandsOf(pids: readonly number[]): { pid: number; words: string }[] {
  if (pids.length === 0) return [];
  const { stdout } = spawnSync("ps", ["-ww", "-o", "pid=,args=", "-p", pids.join(",")], {
    encoding: "utf8",
  });
  return stdout.split("\n").flatMap((line) => {
    const [, pid, words] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined || words === undefined ? [] : [{ pid: Number(pid), words }];
  });
}
