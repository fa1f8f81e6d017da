import type { Origin } from "../model/resource.ts";

/** Where a generation came from, for people: `specs/a.resource.json:1 @ 1f2e3d4 (edited)`. */
export function describeOrigin(origin: Origin): string {
  const place = origin.line === undefined ? origin.file : `${origin.file}:${origin.line}`;
  const commit = origin.commit === undefined ? "" : ` @ ${origin.commit.slice(0, 7)}`;
  const edited = origin.dirty === true ? " (edited)" : "";
  if (place !== undefined) return `${place}${commit}${edited}`;
  return origin.command === undefined ? describeOwner(origin) : origin.command;
}

/** `apply set default`, `sync set main`, `person onur`. */
export function describeOwner(origin: Pick<Origin, "owner">): string {
  const { kind, name } = origin.owner;
  return kind === "person" ? `person ${name}` : `${kind} set ${name}`;
}
