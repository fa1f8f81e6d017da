import { userInfo } from "node:os";
import type { Owner } from "../model/resource.ts";

/** Who acts in this session: the person whose Pi it is. */
export function actorOf(): Owner {
  try {
    return { kind: "person", name: userInfo().username };
  } catch {
    // A user id without an account, as in some containers.
    return { kind: "person", name: process.env["USER"] ?? String(process.getuid?.() ?? "unknown") };
  }
}
