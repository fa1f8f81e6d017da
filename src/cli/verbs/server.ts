import { outputFlag, parseCount } from "../flags.ts";
import type { Verb } from "../verb.ts";

const SERVER_EXITS = { 5: "the server does not answer, or another one runs" };

export const SERVER: Verb = {
  name: "server",
  group: "Server:",
  summary: "Run, start, stop and inspect the server",
  description:
    "One server per state folder owns the database and supervises runners. Commands that change " +
    "something start it on demand; it leaves by itself when it has nothing to do.",
  verbs: [
    {
      name: "run",
      summary: "Run the server in the foreground",
      description: "Runs until Ctrl-C, then drains. Logs to stderr.",
      exitCodes: SERVER_EXITS,
      examples: [
        { command: "pi-workflows server run", does: "In this terminal" },
        {
          command: "PI_WORKFLOWS_HOME=/tmp/try pi-workflows server run",
          does: "With another state folder",
        },
      ],
      load: () => import("../commands/server-run.ts"),
    },
    {
      name: "start",
      summary: "Start the server in the background",
      flags: [outputFlag("json")],
      exitCodes: SERVER_EXITS,
      examples: [
        { command: "pi-workflows server start", does: "Does nothing where one runs" },
        { command: "pi-workflows server start -o json", does: "With its process id, for programs" },
      ],
      load: () => import("../commands/server-start.ts"),
    },
    {
      name: "stop",
      summary: "Let the server finish its passes and exit",
      flags: [outputFlag("json")],
      examples: [
        {
          command: "pi-workflows server stop",
          does: "Waits until it is gone; does nothing where none runs",
        },
        { command: "pi-workflows server stop && pi-workflows server start", does: "Start it anew" },
      ],
      load: () => import("../commands/server-stop.ts"),
    },
    {
      name: "status",
      summary: "Show whether it runs and what it does",
      flags: [outputFlag("json")],
      exitCodes: { 5: "no server runs" },
      examples: [
        { command: "pi-workflows server status", does: "For people" },
        { command: "pi-workflows server status -o json", does: "For programs" },
      ],
      load: () => import("../commands/server-status.ts"),
    },
    {
      name: "logs",
      summary: "Print the server's log",
      flags: [
        { flags: "-f, --follow", description: "go on printing" },
        {
          flags: "-n, --lines <count>",
          description: "the latest so many (default 100)",
          parse: parseCount,
        },
        outputFlag("json"),
      ],
      examples: [
        { command: "pi-workflows server logs -n 20", does: "The latest lines" },
        { command: "pi-workflows server logs -f", does: "Follow" },
      ],
      load: () => import("../commands/server-logs.ts"),
    },
  ],
};
