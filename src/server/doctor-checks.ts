import type { Some, Survey } from "../store/sqlite/survey.ts";

/** What one check says. A problem keeps something from working; a warning will, or may. */
export type Finding = {
  check: string;
  level: "ok" | "warning" | "problem";
  message: string;
  /** What to do. */
  hint?: string;
};

/** A program beside this one. */
export type Tool = { program: string; version?: string; fault?: string };

type Fault = { fault?: string; hint?: string };

/** Everything that checks look at, gathered once. */
export type Facts = {
  now: number;
  node: string;
  sqlite: { version: string } & Fault;
  folder:
    | { path: string; exists: false }
    | ({
        path: string;
        exists: true;
        isFolder: boolean;
        isOwn: boolean;
        mode: number;
        freeBytes: number;
      } & Fault);
  config: Fault;
  server:
    | { state: "answers"; pid: number; version: string }
    /** One of another protocol. */
    | { state: "other"; message: string }
    /** Its process is there and does not answer. */
    | { state: "silent"; pid: number }
    /** It left its files behind. */
    | { state: "died" }
    | { state: "absent" };
  git: Tool;
  pi: Tool;
  /** Whether a restore is under way, or was killed. */
  restoring: boolean;
  /** Absent where there is no database yet. */
  store?: Survey;
  /** Digests of definitions whose code is gone. */
  missingCode: string[];
  /** Processes of runners without a server. */
  orphans: number[];
};

const MIB = 1024 * 1024;
const MINUTE_MS = 60_000;
/** Less room than this, and the next commits may find none. */
const LITTLE_ROOM = 200 * MIB;
const NO_ROOM = 20 * MIB;
/** The log is kept to 16 MiB; much more means that a reader keeps it from being emptied. */
const LARGE_WAL = 128 * MIB;
const OLDEST_NODE = [20, 19] as const;
const OLDEST_GIT = [2, 31] as const;

/** Every check, in the order in which one would look. */
export function judge(facts: Facts): Finding[] {
  const checks = [node, sqlite, folder, disk, config, server, restore, database, wal, clock];
  const ofStore = [definitions, effects, resources, runs, syncs];
  const all = [...checks, ...ofStore, git, pi, runners];
  return all.flatMap((check) => check(facts));
}

function node({ node: version }: Facts): Finding {
  return isOlder(version, OLDEST_NODE)
    ? problem(
        "node",
        `Node ${version} is too old`,
        `Install Node ${OLDEST_NODE.join(".")} or later.`,
      )
    : ok("node", version);
}

function sqlite({ sqlite: { version, fault, hint } }: Facts): Finding {
  return fault === undefined ? ok("sqlite", version) : problem("sqlite", fault, hint);
}

function folder({ folder: found }: Facts): Finding {
  const check = "state folder";
  const elsewhere = "Set PI_WORKFLOWS_HOME to a folder of your own on a local disk.";
  if (!found.exists) return ok(check, `${found.path} is not made yet; the first command makes it`);
  if (!found.isFolder) return problem(check, `${found.path} is not a folder`, elsewhere);
  if (!found.isOwn) return problem(check, `${found.path} belongs to another user`, elsewhere);
  if (found.fault !== undefined) return problem(check, found.fault, found.hint);
  if ((found.mode & 0o077) !== 0) {
    const mode = found.mode.toString(8).padStart(3, "0");
    const message = `${found.path} is open to others (mode ${mode})`;
    return problem(check, message, `Run \`chmod 700 ${found.path}\`; the next start does so too.`);
  }
  return ok(check, found.path);
}

function disk({ folder: found }: Facts): Finding[] {
  if (!found.exists) return [];
  const free = `${Math.floor(found.freeBytes / MIB)} MiB free`;
  const hint = `Free some space where ${found.path} is.`;
  if (found.freeBytes < NO_ROOM) return [problem("disk", free, hint)];
  return [found.freeBytes < LITTLE_ROOM ? warning("disk", free, hint) : ok("disk", free)];
}

function config({ config: { fault, hint } }: Facts): Finding {
  return fault === undefined
    ? ok("config.json", "can be used")
    : problem("config.json", fault, hint);
}

function server({ server: found }: Facts): Finding {
  switch (found.state) {
    case "answers":
      return ok("server", `runs: pid ${found.pid}, version ${found.version}`);
    case "other":
      return problem("server", found.message, "Stop it with `pi-workflows server stop`.");
    case "silent":
      return problem(
        "server",
        `process ${found.pid} owns the state folder and does not answer`,
        `Look at \`pi-workflows server logs\`; end it with \`kill ${found.pid}\`.`,
      );
    case "died":
      return warning(
        "server",
        "does not run, and the last one ended without cleaning up",
        "Nothing to do: the next start takes over. `pi-workflows server logs` may say why.",
      );
    case "absent":
      return ok("server", "does not run; the next command that needs one starts it");
  }
}

function restore({ restoring }: Facts): Finding[] {
  if (!restoring) return [];
  const hint = "The next start ends it or undoes it: `pi-workflows server start`.";
  return [warning("restore", "is under way, or was cut short", hint)];
}

const RESTORE = "Stop the server, keep a copy, and restore a backup with `pi-workflows restore`.";

function database({ store }: Facts): Finding {
  const check = "database";
  if (store === undefined) return ok(check, "is not made yet");
  if (store.unreadable !== undefined) return problem(check, store.unreadable, RESTORE);
  if (!store.isOurs) {
    const hint = "Move it away, or set PI_WORKFLOWS_HOME to another folder.";
    return problem(check, "is another program's", hint);
  }
  if (store.schemaVersion > store.knownSchema) {
    const message = `schema version ${store.schemaVersion} is newer than ${store.knownSchema}, which this version knows`;
    return problem(check, message, "Upgrade pi-workflows.");
  }
  if (store.integrity !== "ok") return problem(check, `is damaged: ${store.integrity}`, RESTORE);
  const size = `${Math.ceil(store.bytes / 1024)} KiB`;
  const older = store.schemaVersion < store.knownSchema;
  const upgrade = older ? `, which the next server makes ${store.knownSchema}` : "";
  return ok(check, `is sound: ${size}, schema version ${store.schemaVersion}${upgrade}`);
}

function wal({ store }: Facts): Finding[] {
  if (store === undefined) return [];
  const size = `${Math.ceil(store.walBytes / MIB)} MiB`;
  if (store.walBytes <= LARGE_WAL) return [ok("write-ahead log", size)];
  const hint = "Find the program that keeps the database open (`lsof`), and end it.";
  return [warning("write-ahead log", `${size}: something keeps it from being emptied`, hint)];
}

function clock({ now, store }: Facts): Finding[] {
  if (store === undefined) return [];
  const aheadMs = store.latestAt - now;
  if (aheadMs <= MINUTE_MS) return [ok("clock", new Date(now).toISOString())];
  return [
    warning(
      "clock",
      `the store has seen ${new Date(store.latestAt).toISOString()}, ${Math.round(aheadMs / MINUTE_MS)} minutes ahead of the clock`,
      "Set the clock right. Nothing is lost: the queue goes on by its own time.",
    ),
  ];
}

function definitions({ store, missingCode }: Facts): Finding[] {
  const found: Finding[] = [];
  if (missingCode.length > 0) {
    const digests = missingCode.map((digest) => digest.slice(0, 12)).join(", ");
    const message = `the code of ${missingCode.length} is gone: ${digests}`;
    found.push(problem("definitions", message, "Apply a resource of each again, or sync now."));
  }
  const nobody = store?.undefinedManagers;
  if (nobody !== undefined && nobody.count > 0) {
    const message = `${listed(nobody)} have resources and no accepted definition`;
    found.push(
      problem("definitions", message, "Apply one of its resources with the definition in place."),
    );
  }
  return found.length > 0 ? found : of(store, ok("definitions", "all have their code"));
}

function effects({ store }: Facts): Finding[] {
  return some(store, store?.parkedEffects, {
    check: "effects",
    none: "none is parked",
    message: (one) => `${listed(one)}: nobody can tell whether an effect happened`,
    hint: "See `pi-workflows effects --open`; settle each with `pi-workflows effect resolve`.",
  });
}

function resources({ store }: Facts): Finding[] {
  return some(store, store?.stalledResources, {
    check: "resources",
    none: "none is stalled",
    message: (one) => `${listed(one)}: given up until the spec changes`,
    hint: "See `pi-workflows why MANAGER KEY`; try again with `pi-workflows reconcile MANAGER KEY`.",
  });
}

function runs({ store }: Facts): Finding[] {
  return some(store, store?.interruptedRuns, {
    check: "runs",
    none: "none is interrupted",
    message: (one) => `${listed(one)}: interrupted, and waits for a person`,
    hint: "See `pi-workflows run show RUN`, which says what each needs.",
  });
}

function syncs({ store }: Facts): Finding[] {
  const sets = store?.syncs ?? [];
  return sets.flatMap(({ set, report }) => {
    const not = report.conditions.find(({ type, status }) => type === "Synced" && !status);
    if (not === undefined) return [ok("sync", `${set.project} is in step`)];
    const message = `${set.project}: ${not.message ?? not.reason}`;
    const isMeant = report.conditions.some(({ type, status }) => type === "Suspended" && status);
    const level = isMeant ? warning : problem;
    return [level("sync", message, "See `pi-workflows sync status` there.")];
  });
}

function git({ git: found, store }: Facts): Finding {
  const hint = "Install git 2.31 or later; sync reads repositories with it.";
  const isUsed = (store?.syncs ?? []).length > 0;
  const level = isUsed ? problem : warning;
  if (found.version === undefined) return level("git", `can't be used: ${found.fault ?? ""}`, hint);
  return isOlder(found.version, OLDEST_GIT)
    ? level("git", `git ${found.version} is too old`, hint)
    : ok("git", found.version);
}

function pi({ pi: found, store }: Facts): Finding {
  if (found.version !== undefined) return ok("pi", `${found.version} (${found.program})`);
  const message = `${found.program} can't be used: ${found.fault ?? ""}`;
  const hint =
    "Install Pi, or name its command in config.json (`pi.command`): nodes that ask an agent need it.";
  return (store?.workflows ?? 0) > 0
    ? warning("pi", message, hint)
    : ok("pi", `${message}; only workflows with agents need it`);
}

function runners({ orphans }: Facts): Finding[] {
  if (orphans.length === 0) return [];
  const message = `${orphans.join(", ")} run without a server`;
  return [warning("runners", message, "The next server ends them: `pi-workflows server start`.")];
}

type Phrases = { check: string; none: string; message: (one: Some) => string; hint: string };

function some(store: Survey | undefined, found: Some | undefined, phrases: Phrases): Finding[] {
  const { check, none, message, hint } = phrases;
  if (found === undefined || found.count === 0) return of(store, ok(check, none));
  return [problem(check, message(found), hint)];
}

/** Nothing is said of a store that is not there or can't be read. */
function of(store: Survey | undefined, finding: Finding): Finding[] {
  return store === undefined || store.unreadable !== undefined || !store.isOurs ? [] : [finding];
}

function listed({ count, first }: Some): string {
  const more = count - first.length;
  return first.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

function isOlder(version: string, [major, minor]: readonly [number, number]): boolean {
  const [a = 0, b = 0] = version.split(".").map(Number);
  return a < major || (a === major && b < minor);
}

function ok(check: string, message: string): Finding {
  return { check, level: "ok", message };
}
function warning(check: string, message: string, hint?: string): Finding {
  return { check, level: "warning", message, ...(hint === undefined ? {} : { hint }) };
}
function problem(check: string, message: string, hint?: string): Finding {
  return { check, level: "problem", message, ...(hint === undefined ? {} : { hint }) };
}
