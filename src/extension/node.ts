import { execFile } from "node:child_process";
import { accessSync, constants } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { plainEnvironment } from "../model/environment.ts";
import { PiWorkflowsError } from "../model/errors.ts";
import { installationUrl } from "../model/installation.ts";

/** Names a Node to use, where Pi's own and the one on PATH won't do. */
const NODE_VARIABLE = "PI_WORKFLOWS_NODE";

// A start of Node and the load of SQLite take a tenth of a second; a busy machine may take longer.
const PROBE_MS = 20_000;

// The database is compiled for one line of Node versions, so a Node is good when it opens one.
const PROBE = `
const [major, minor] = process.versions.node.split(".").map(Number);
if (major < 20 || (major === 20 && minor < 19)) throw new Error("it is " + process.version + "; 20.19 or newer is needed");
new (require("better-sqlite3"))(":memory:").close();
`;

let found: Promise<string> | undefined;

/**
 * A real Node that runs the server and the command line: Pi's own, else the one on PATH. Pi may be a
 * compiled program, which is none, and its Node may be another than the one the database was
 * compiled for, so each is tried, once in a process.
 * @throws PiWorkflowsError UNSUPPORTED, saying of each why it won't do
 */
export function findNode(): Promise<string> {
  found ??= search(candidates());
  found.catch(() => (found = undefined));
  return found;
}

/** Nodes worth trying, in order. */
export function candidates(
  env: NodeJS.ProcessEnv = process.env,
  own: { execPath: string; compiled: boolean } = {
    execPath: process.execPath,
    compiled: process.versions["bun"] !== undefined,
  },
): string[] {
  const named = env[NODE_VARIABLE];
  if (named) return [path.resolve(named)];
  const isNode = !own.compiled && /^node/i.test(path.basename(own.execPath));
  const onPath = (env["PATH"] ?? "")
    .split(path.delimiter)
    .filter((folder) => path.isAbsolute(folder))
    .map((folder) => path.join(folder, "node"))
    .filter(isExecutable);
  return [...new Set([...(isNode ? [own.execPath] : []), ...onPath])];
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function search(nodes: readonly string[]): Promise<string> {
  const reasons: string[] = [];
  for (const node of nodes) {
    const reason = await whyNot(node);
    if (reason === undefined) return node;
    reasons.push(`${node}: ${reason}`);
  }
  throw new PiWorkflowsError(
    "UNSUPPORTED",
    ["no Node was found that runs the server of pi-workflows", ...reasons].join("\n  "),
    {
      hint:
        "Install Node 20.19 or newer (nodejs.org) so that `node` is on PATH, or name one in " +
        `${NODE_VARIABLE}. Where its database does not load, run \`npm rebuild better-sqlite3\` in ` +
        `${fileURLToPath(installationUrl(""))}.`,
    },
  );
}

function whyNot(node: string): Promise<string | undefined> {
  const env = plainEnvironment(process.env);
  const options = { cwd: installationUrl(""), env, timeout: PROBE_MS };
  return new Promise((resolve) => {
    execFile(node, ["-e", PROBE], options, (error, _stdout, stderr) => {
      if (!error) return resolve(undefined);
      const said = /^(?:\w*Error): (.*)$/m.exec(stderr)?.[1];
      resolve(said ?? error.message.split("\n")[0]);
    });
  });
}
