import { GitHubClient } from "../../examples/pull-request/.pi/resource-managers/pull-request/github-client.ts";
import { reconcile } from "../../examples/pull-request/.pi/resource-managers/pull-request/reconcile.ts";
import type { Settings } from "../../examples/pull-request/.pi/resource-managers/pull-request/settings.ts";
import {
  pullRequestSpec,
  type PullRequestSpec,
  type PullRequestSpecInput,
} from "../../examples/pull-request/.pi/resource-managers/pull-request/spec.ts";
import {
  initialStatus,
  type PullRequestStatus,
} from "../../examples/pull-request/.pi/resource-managers/pull-request/status.ts";
import type { StoredEffect } from "../../src/model/effect.ts";
import { defineResourceManager } from "../../src/resource-managers/define.ts";
import { VirtualClock } from "../../src/testing/clock.ts";
import { ManagerTest, type PassEnd } from "../../src/testing/manager.ts";

type Options = {
  spec: PullRequestSpecInput;
  token?: string;
  timeoutMs?: number;
  settleMs?: number;
};

/**
 * One pull request under the manager, in memory, on a clock that jumps to the next pass. Everything
 * that leaves it is kept, to be searched for secrets.
 */
export class Driver extends ManagerTest<PullRequestSpec, PullRequestStatus> {
  abort = new AbortController();
  readonly #spec: PullRequestSpecInput;

  constructor(options: Options) {
    const { spec } = options;
    const clock = new VirtualClock(Date.parse("2026-03-02T12:00:00Z"));
    super(managerOf(options, clock), {
      spec: pullRequestSpec.parse(spec),
      key: `${spec.repository}#${spec.number}`,
      clock,
    });
    this.#spec = spec;
  }

  /** Where the clock stands: when the next pass is due. */
  get now(): number {
    return this.clock.now();
  }

  get uid(): string {
    return this.resource.metadata.uid;
  }

  get finalizers(): readonly string[] {
    return this.resource.metadata.finalizers;
  }

  effectsOf(kind = "github-merge"): StoredEffect[] {
    return this.effects.filter((effect) => effect.kind === kind);
  }

  /** A new generation, in which some fields are others. */
  edit(changes: Partial<PullRequestSpecInput>): void {
    this.change(pullRequestSpec.parse({ ...this.#spec, ...changes }));
  }

  /** Runs one pass and puts the clock where the next one is due. */
  override async pass(): Promise<PassEnd> {
    const end = await super.pass("requeue", this.abort.signal);
    await this.clock.advance(Math.max(1, this.dueInMs));
    return end;
  }

  /** Everything that a person or a log could come to see. */
  get everything(): string {
    return JSON.stringify([this.resource, this.effects, this.logs, this.passes]);
  }
}

function managerOf(
  { token = "loopback", timeoutMs = 20_000, settleMs = 30_000 }: Options,
  clock: VirtualClock,
) {
  const settings: Settings = {
    pollMs: Number.POSITIVE_INFINITY,
    settleMs,
    connect: (apiUrl) =>
      Promise.resolve(
        new GitHubClient({
          apiUrl,
          token,
          writeSpacingMs: 0,
          timeoutMs,
          retryMs: 1,
          now: clock.now,
        }),
      ),
  };
  return defineResourceManager<PullRequestSpec, PullRequestStatus>({
    name: "pull-request",
    spec: pullRequestSpec,
    initialStatus,
    reconcile: (ctx, resource) => reconcile(ctx, resource, settings),
  });
}
