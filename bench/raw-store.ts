import path from "node:path";
import { fillStore } from "./fill.ts";
import { RawStore } from "./raw.ts";
import { makeWorkspace } from "./workspace.ts";

/** A bare store with so many settled resources. */
export function openRaw(filling: { count: number; bytes: number }): {
  store: RawStore;
  lane: number;
} {
  const file = path.join(makeWorkspace(), "raw.sqlite");
  const empty = new RawStore(file);
  const lane = empty.makeLane();
  empty.close();
  fillStore(file, { lane, from: 0, queue: "none", ...filling });
  return { store: new RawStore(file), lane };
}
