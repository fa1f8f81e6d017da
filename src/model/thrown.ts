/**
 * What project code threw, or an error that stands for it where looking at it throws again: it may be
 * a proxy, have getters, or lack all that errors have.
 */
export function tame(thrown: unknown): unknown {
  try {
    if (thrown instanceof Error) return readsAsText(thrown) ? thrown : new Error(UNSEEN);
    // What is a fault where it is looked at is one here already.
    if (typeof thrown === "object" && thrown !== null && "message" in thrown) void thrown.message;
    return thrown;
  } catch {
    return new Error(UNSEEN);
  }
}

const UNSEEN = "something was thrown that can't be shown";

function readsAsText({ name, message, stack }: Error): boolean {
  return [name, message, stack ?? ""].every((text) => typeof text === "string");
}

/** Anything as text. */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return UNSEEN;
  }
}
