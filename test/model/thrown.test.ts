import { describe, expect, it } from "vitest";
import { tame, textOf } from "../../src/model/thrown.ts";
import { failure } from "../../src/runner/pass.ts";
import { textOf as describeThrown, stackOf } from "../../src/sources/guard.ts";

const throwing = (): never => {
  throw new Error("looked at");
};
const revoked = (): unknown => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

const ODD: [string, unknown][] = [
  ["nothing", undefined],
  ["a symbol", Symbol("s")],
  ["an object without a prototype", Object.create(null)],
  ["a proxy whose prototype can't be asked for", new Proxy({}, { getPrototypeOf: throwing })],
  ["a proxy that can't be read", new Proxy({}, { get: throwing, has: throwing })],
  ["a revoked proxy", revoked()],
  ["an error whose message is a symbol", Object.assign(new Error("e"), { message: Symbol("m") })],
  [
    "an error whose stack throws",
    Object.defineProperty(new Error("e"), "stack", { get: throwing }),
  ],
  ["an error whose name is an object", Object.assign(new Error("e"), { name: { toString: null } })],
  ["an object whose message throws", Object.defineProperty({}, "message", { get: throwing })],
  ["an object that is no text", { toString: null, [Symbol.toPrimitive]: throwing }],
];

describe("what project code throws", () => {
  it.each(ODD)("%s ends a pass and a load with a message", (_what, odd) => {
    expect(failure(odd).message).not.toBe("");
    expect(describeThrown(odd)).not.toBe("");
    expect(typeof stackOf(odd)).toBe("string");
    expect(textOf(odd)).not.toBe("");
  });

  it("is left as it is where it can be looked at", () => {
    const error = new TypeError("plain");
    for (const plain of [error, "text", 7, null, { message: "own" }]) {
      expect(tame(plain)).toBe(plain);
    }
  });
});
