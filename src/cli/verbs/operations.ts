import { outputFlag, YES } from "../flags.ts";
import { parseDuration } from "../time.ts";
import type { Verb } from "../verb.ts";

const GROUP = "Operations:";

const BACKUP: Verb = {
  name: "backup",
  group: GROUP,
  summary: "Copy the store into one file",
  description:
    "Writes the database, and the code of every definition that it names, into one new file. " +
    "It is consistent, and a server may go on working meanwhile. config.json is not in it.",
  arguments: [{ usage: "<file>", description: "the file to write", complete: "file" }],
  flags: [outputFlag("json")],
  examples: [
    { command: "pi-workflows backup ~/backups/monday", does: "A file that does not exist yet" },
    {
      command: "pi-workflows backup ~/backups/monday -o json",
      does: "With what is in it, for programs",
    },
  ],
  load: () => import("../commands/backup.ts"),
};

const RESTORE: Verb = {
  name: "restore",
  group: GROUP,
  summary: "Put the store of a backup in place",
  description:
    "Checks the whole backup first, and keeps the database that it replaces beside it. No server " +
    "may run. What happened since the backup is not in it: the restored store looks at the outside " +
    "world before every effect, and asks about what nobody can look at. It runs the code that is " +
    "in the backup, so restore only your own.",
  arguments: [{ usage: "<file>", description: "a backup", complete: "file" }],
  flags: [YES, outputFlag("json")],
  exitCodes: { 3: "not confirmed", 5: "a server runs" },
  examples: [
    {
      command: "pi-workflows server stop && pi-workflows restore ~/backups/monday",
      does: "Asks, then replaces the store",
    },
    { command: "pi-workflows restore ~/backups/monday --yes", does: "Without asking" },
  ],
  load: () => import("../commands/restore.ts"),
};

const DOCTOR: Verb = {
  name: "doctor",
  group: GROUP,
  summary: "Find out what is wrong, and what to do",
  description:
    "Looks at the programs, the state folder, the server, the database, and what waits in it for a " +
    "person. Changes nothing and needs no server.",
  flags: [
    { flags: "-q, --quiet", description: "only what is not well", group: "Output:" },
    outputFlag("json"),
  ],
  exitCodes: { 1: "there are problems" },
  examples: [
    { command: "pi-workflows doctor", does: "Everything that was looked at" },
    { command: "pi-workflows doctor --quiet -o json", does: "For programs" },
  ],
  load: () => import("../commands/doctor.ts"),
};

const REPAIR: Verb = {
  name: "repair",
  group: GROUP,
  summary: "Rebuild the queue from the resources",
  description:
    "Enqueues every resource that has no place in the queue: one whose place was lost goes on, and one " +
    "that rests is looked at once more. It only adds: passes that run, waits and backoffs stay as they " +
    "are, and what is suspended or given up stays so.",
  flags: [{ flags: "--dry-run", description: "count them and change nothing" }, outputFlag("json")],
  examples: [
    { command: "pi-workflows repair --dry-run", does: "How many have no place" },
    { command: "pi-workflows repair", does: "Enqueue them" },
  ],
  load: () => import("../commands/repair.ts"),
};

const PRUNE_HISTORY: Verb = {
  name: "prune-history",
  group: GROUP,
  summary: "Delete the history of what is long gone",
  description:
    "Deletes resources that were removed, and runs that ended, longer ago than that, with their " +
    "passes, events, effects and journals. Without it the server does so by itself after 30 days, " +
    "but keeps the newest 200 runs of each workflow. What is open, or shown by a resource, stays.",
  flags: [
    {
      flags: "--older-than <duration>",
      description: "how long ago: 12h, 7d (default 30d)",
      parse: parseDuration,
    },
    { flags: "--dry-run", description: "count and delete nothing" },
    YES,
    outputFlag("json"),
  ],
  exitCodes: { 3: "not confirmed" },
  examples: [
    { command: "pi-workflows prune-history --dry-run", does: "What would go" },
    { command: "pi-workflows prune-history --older-than 7d --yes", does: "Without asking" },
  ],
  load: () => import("../commands/prune-history.ts"),
};

const METRICS: Verb = {
  name: "metrics",
  group: GROUP,
  summary: "Print the server's metrics for Prometheus",
  description:
    "Prints what `GET /metrics` on the server's socket answers: counters and histograms of passes, " +
    "queue, effects, runs and syncs, with the names of controller-runtime.",
  exitCodes: { 5: "no server runs" },
  examples: [
    { command: "pi-workflows metrics", does: "All of them" },
    {
      command: "pi-workflows metrics > /var/lib/node_exporter/pi.prom",
      does: "For a textfile collector",
    },
  ],
  load: () => import("../commands/metrics.ts"),
};

/** What keeps an installation well. */
export const OPERATION_VERBS: readonly Verb[] = [
  DOCTOR,
  BACKUP,
  RESTORE,
  REPAIR,
  PRUNE_HISTORY,
  METRICS,
];
