import { truncate } from "../model/limits.ts";
import { redactText } from "../model/redact.ts";
import { tame, textOf } from "../model/thrown.ts";

/** `text`, or whatever an author gave for it, fit to be stored and shown: credentials masked, cut to the limit of a message. */
export function clean(text: unknown): string {
  return truncate(redactText(textOf(text)));
}

/** The message of anything thrown, fit to be stored. */
export function messageOf(value: unknown): string {
  const thrown = tame(value);
  if (thrown instanceof Error) return clean(thrown.message === "" ? thrown.name : thrown.message);
  if (typeof thrown === "object" && thrown !== null && "message" in thrown) {
    return clean(thrown.message);
  }
  return clean(thrown);
}
