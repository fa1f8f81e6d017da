import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect } from "vitest";
import { startModelProvider, type ModelProvider } from "../../model-provider/stand-in.mjs";
import type { InstalledPi } from "./installed.ts";

/** What a machine lasts as long as: a test, or all tests of a file. */
export type Lifetime = { onTestFinished: (clean: () => Promise<void>) => void };

/**
 * The lifetime of the suite in which it is called, for what its `beforeAll` makes: a hook that is
 * registered while another runs would never be called.
 */
export function lifetimeOfSuite(): Lifetime {
  const cleans: (() => Promise<void>)[] = [];
  afterAll(async () => {
    for (const clean of cleans.reverse()) await clean();
  });
  return { onTestFinished: (clean) => void cleans.push(clean) };
}

/** A person's machine with Pi, and nothing of the machine that the tests run on. */
export type PiMachine = {
  root: string;
  home: string;
  /** Pi's own folder: settings, models, credentials. */
  agentDir: string;
  /** An empty project. */
  project: string;
  /** The whole environment of a program that is to run Pi; `PATH` begins with Pi and its Node. */
  env: Record<string, string>;
  /** Makes Pi send the value of a variable of its environment as its key. */
  useKey(variable: string): void;
  /** Digest of every file of Pi's own folder, by its name. */
  agentFiles(): Record<string, string>;
};

export type MachineOptions = {
  pi: InstalledPi;
  /** `baseUrl` of the model provider; without it Pi has no model. */
  modelUrl?: string;
  /** Beside what keeps Pi quiet and off the network. */
  settings?: Record<string, unknown>;
};

/** The key that the stand-in is sent, as the user has it in models.json. */
export const MODEL_KEY = "key-of-the-stand-in";

/** Pi caches compiled code under TMPDIR: shared by a run's machines, it starts twice as fast. */
const SHARED_TMP = path.join(import.meta.dirname, "../../../.cache/pi/tmp");

/** The folders, files and environment of one user; removed when the test ends. */
export function createPiMachine(test: Lifetime, options: MachineOptions): PiMachine {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), "pw-pi-")));
  const home = path.join(root, "home");
  const agentDir = path.join(home, ".pi/agent");
  const project = path.join(root, "project");
  for (const folder of [agentDir, project, SHARED_TMP]) mkdirSync(folder, { recursive: true });
  const model = options.modelUrl === undefined ? {} : useModel(agentDir, options.modelUrl);
  writeJson(path.join(agentDir, "settings.json"), { ...QUIET, ...model, ...options.settings });
  test.onTestFinished(async () => rmSync(root, { recursive: true, force: true }));
  const env = {
    PATH: [options.pi.path, "/usr/local/bin", "/usr/bin", "/bin"].join(path.delimiter),
    HOME: home,
    PI_CODING_AGENT_DIR: agentDir,
    PI_OFFLINE: "1",
    PI_TELEMETRY: "0",
    PI_SKIP_VERSION_CHECK: "1",
    NO_COLOR: "1",
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    TMPDIR: SHARED_TMP,
  };
  return {
    root,
    home,
    agentDir,
    project,
    env,
    // Pi 0.73 and 1.6 name variables in different ways; commands they have in common.
    useKey: (name) => void useModel(agentDir, options.modelUrl as string, `!printenv ${name}`),
    agentFiles: () => digests(agentDir),
  };
}

/** A model provider; when the test ends, both sides must have kept to the published description. */
export async function useModelProvider(test: Lifetime): Promise<ModelProvider> {
  const provider = await startModelProvider();
  test.onTestFinished(async () => {
    await provider.close();
    expect(provider.problems).toEqual([]);
  });
  return provider;
}

const QUIET = {
  defaultThinkingLevel: "off",
  enableInstallTelemetry: false,
  quietStartup: true,
  cacheWarming: "off",
  retry: { enabled: false },
};

function useModel(agentDir: string, baseUrl: string, apiKey = MODEL_KEY): Record<string, unknown> {
  const model = {
    id: "stand-in",
    name: "Stand-in",
    reasoning: false,
    input: ["text"],
    contextWindow: 128_000,
    maxTokens: 4_096,
    cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
  };
  const tests = { baseUrl, api: "openai-completions", apiKey, models: [model] };
  writeJson(path.join(agentDir, "models.json"), { providers: { tests } });
  return { defaultProvider: "tests", defaultModel: "stand-in" };
}

function writeJson(file: string, value: unknown): void {
  writeFileSync(file, `${JSON.stringify(value, null, 2)}\n`);
}

function digests(folder: string): Record<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => statSync(path.join(folder, name)).isFile())
    .sort();
  return Object.fromEntries(
    files.map((name) => {
      const content = readFileSync(path.join(folder, name));
      return [name, createHash("sha256").update(content).digest("hex")];
    }),
  );
}
