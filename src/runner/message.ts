import { truncate } from "../model/limits.ts";
import { redactText } from "../model/redact.ts";

/** `text`, or whatever an author gave for it, fit to be stored and shown: credentials masked, cut to the limit of a message. */
export function clean(text: unknown): string {
  return truncate(redactText(String(text)));
}

/** The message of anything thrown, fit to be stored. */
export function messageOf(thrown: unknown): string {
  if (thrown instanceof Error) return clean(thrown.message === "" ? thrown.name : thrown.message);
  if (typeof thrown === "object" && thrown !== null && "message" in thrown) {
    return clean(thrown.message);
  }
  return clean(thrown);
}
