import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import type { ManagerProposal } from "../../src/model/batch.ts";
import { connect } from "../../src/server/client.ts";
import { createServer } from "../../src/server/index.ts";
import type { Client } from "../../src/server/protocol.ts";
import { digestOf } from "../../src/sources/digest.ts";
import { hash } from "node:crypto";
import { describeTarget, type TargetUnderTest } from "../apply/target-contract.ts";
import { tempFolder } from "./temp.ts";

/** A global definition, which two projects may use. No pass of it is run. */
function globalDefinition(folder: string): ManagerProposal {
  const file = path.join(folder, "contract.resource-manager.mjs");
  const text = "export default {};";
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, text);
  const inputs = [{ path: file, sha256: hash("sha256", text, "hex") }];
  return {
    name: "contract",
    path: file,
    scope: "global",
    inputs,
    bundle: text,
    digest: digestOf(text, inputs),
    secretPaths: [],
    sources: [],
    deadlineMs: 60_000,
    maxConcurrent: 1,
  };
}

async function targetOver(
  clientOf: (home: string, local: Client) => Promise<Client>,
): Promise<TargetUnderTest> {
  const home = path.join(tempFolder(), "home");
  const globalDefinitions = path.join(tempFolder(), "definitions");
  const manager = globalDefinition(globalDefinitions);
  // No room for passes: the suite is about what is stored.
  const server = createServer({ home, globalDefinitions, concurrency: 0 });
  await server.start();
  const client = await clientOf(home, server.client);
  return {
    target: client,
    project: tempFolder(),
    otherProject: tempFolder(),
    manager,
    close: async () => {
      await client.close();
      await server.stop();
    },
  };
}

describeTarget("the client over the socket", () => targetOver((home) => connect({ home })));
describeTarget("the client in process", () => targetOver((_home, local) => Promise.resolve(local)));
