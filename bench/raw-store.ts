import path from "node:path";
import { fillStore } from "./fill.ts";
import { RawStore } from "./raw.ts";
import { makeLane } from "./store.ts";
import { makeWorkspace } from "./workspace.ts";

/** A bare store with so many settled resources. */
export async function openRaw(filling: { count: number; bytes: number }): Promise<{
  store: RawStore;
  lane: number;
}> {
  const file = path.join(makeWorkspace(), "raw.sqlite");
  const lane = await makeLane(file);
  fillStore(file, { lane, from: 0, queue: "none", ...filling });
  return { store: new RawStore(file), lane };
}
