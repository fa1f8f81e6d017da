import { canonicalJson, fingerprintText } from "../../src/model/canonical.ts";
import type { Desired, Problem } from "../../src/model/manifest.ts";
import type { SyncSet } from "../../src/model/sync.ts";
import {
  nothingResolved,
  type Resolution,
  type ResolveRequest,
} from "../../src/runner/resolver.ts";
import type { Look, Source } from "../../src/server/sync/source.ts";
import { PROJECT, type ThingSpec } from "./programs.ts";
import type { World } from "./world.ts";

const ROOT = "specs";
const KEYS = ["s1", "s2", "s3"];

/** The files of one commit: what each declares, or nothing where it can't be read. */
type Tree = ReadonlyMap<string, { key: string; spec: ThingSpec } | undefined>;

export const SYNC_SET: SyncSet = {
  project: PROJECT,
  source: { kind: "committed", branch: "main" },
  roots: [ROOT],
  prune: true,
  suspended: false,
  enabledAt: 0,
  enabledBy: "ann",
};

/** A branch to which people commit specs, some of them broken. */
export class Repository {
  readonly #world: World;
  readonly #commits: Tree[] = [];

  constructor(world: World) {
    this.#world = world;
    this.commit(false);
  }

  /** Somebody commits something. */
  commit(mayBreak: boolean): void {
    const { random } = this.#world;
    const files = new Map(this.#commits.at(-1));
    const key = random.pick(KEYS);
    const file = `${ROOT}/${key}.resource.json`;
    if (random.chance(0.25) && files.size > 1) files.delete(file);
    else if (mayBreak && random.chance(0.2)) files.set(file, undefined);
    else files.set(file, { key, spec: { size: random.between(1, 9), opaque: false, asks: false } });
    this.#commits.push(files);
    this.#world.trace(`commit ${this.#commits.length}`);
  }

  /** Somebody mends what is broken. */
  mend(): void {
    while ([...this.#head().values()].includes(undefined)) this.commit(false);
  }

  /** What the newest commit declares, by key. */
  declared(): Map<string, ThingSpec> {
    const found = [...this.#head().values()].filter((one) => one !== undefined);
    return new Map(found.map(({ key, spec }) => [key, spec]));
  }

  /** As a server sees it. */
  source(): Source {
    const { random, faults } = this.#world;
    const look = async (): Promise<Look> => {
      if (random.chance(faults.lookFails)) {
        return { trouble: { reason: "Unreadable", message: "simulated" } };
      }
      const id = `commit-${this.#commits.length}`;
      return { revision: { id, kind: "commit", tree: `tree-of-${id}` } };
    };
    return {
      look,
      list: async (revision, since) => {
        const files = this.#at(revision.id);
        const before = since && this.#at(since.id);
        return {
          specs: new Map([...files].map(([file, declared]) => [file, hashOf(declared)])),
          problems: [],
          hasWorkflows: false,
          absentRoots: [],
          changed: before && new Set(differing(files, before)),
          isOfDisk: false,
        };
      },
      reading: ({ id }) => ({ revision: { gitDir: "", commit: id } }),
      include: () => undefined,
      originsOf:
        async (_files, { revision }) =>
        () => ({ commit: revision.id }),
      removals: async () => new Map(),
      deaf: undefined,
      close: () => Promise.resolve(),
    };
  }

  /** Loads files of a commit, as a resolver does. */
  async resolve({ files, revision }: ResolveRequest): Promise<Resolution> {
    const tree = this.#at(revision?.commit ?? "");
    const desired: Desired[] = [];
    const problems: Problem[] = [];
    const names = files.map((file) => file.slice(PROJECT.length + 1));
    for (const file of names) {
      const declared = tree.get(file);
      if (declared) desired.push(desiredOf(file, declared));
      else problems.push({ file, line: 1, column: 1, path: "", message: "is broken" });
    }
    return {
      ...nothingResolved(),
      desired,
      problems,
      files: names.map((file) => ({ file, sha256: hashOf(tree.get(file)) })),
      imports: Object.fromEntries(names.map((file) => [file, []])),
    };
  }

  #head(): Tree {
    return this.#commits.at(-1) as Tree;
  }

  #at(commit: string): Tree {
    return this.#commits[Number(commit.slice("commit-".length)) - 1] as Tree;
  }
}

function desiredOf(file: string, { key, spec }: { key: string; spec: ThingSpec }): Desired {
  const text = canonicalJson(spec);
  return {
    resourceManager: "thing",
    key,
    spec: text,
    specHash: fingerprintText(text),
    initialStatus: "{}",
    labels: {},
    dependsOn: [],
    place: { file, line: 1, column: 1 },
  };
}

function hashOf(declared: unknown): string {
  return fingerprintText(JSON.stringify(declared ?? "broken"));
}

function differing(left: Tree, right: Tree): string[] {
  const files = [...new Set([...left.keys(), ...right.keys()])];
  return files.filter((file) => hashOf(left.get(file)) !== hashOf(right.get(file)));
}
