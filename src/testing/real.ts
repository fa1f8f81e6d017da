import { mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createServer, type Server, type ServerOptions } from "../server/index.ts";
import { scriptedAgents, type AgentScript } from "./agents.ts";

/** What a real server for tests begins with. */
export type RealServerOptions = Omit<ServerOptions, "home" | "agents" | "listen"> & {
  /** Answers every agent; without it the real Pi does. */
  agents?: AgentScript;
};

/** A real server with its own state folder: real runners, a real database, a real socket. */
export type RealServer = Server & {
  /** Its state folder, for `PI_WORKFLOWS_HOME` of commands. */
  home: string;
  /** Stops it, and removes the folder. */
  close(): Promise<void>;
};

/** Starts a server whose runners are processes, for the tests that memory can't make. */
export async function startRealServer(options: RealServerOptions = {}): Promise<RealServer> {
  const { agents, ...rest } = options;
  const home = realpathSync(mkdtempSync(path.join(tmpdir(), "pi-workflows-test-")));
  const server = createServer({
    ...rest,
    home,
    ...(agents === undefined ? {} : { agents: scriptedAgents(agents) }),
  });
  try {
    await server.start();
  } catch (thrown) {
    rmSync(home, { recursive: true, force: true });
    throw thrown;
  }
  return {
    ...server,
    home,
    async close() {
      await server.stop();
      rmSync(home, { recursive: true, force: true });
    },
  };
}
