import { userInfo } from "node:os";
import type { Origin } from "../model/resource.ts";

/** The origin of what a person does on the command line. */
export function personOrigin(command: string): Origin {
  return { owner: { kind: "person", name: userName() }, command };
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user id without an account, as in some containers.
    return process.env["USER"] ?? String(process.getuid?.() ?? "unknown");
  }
}
