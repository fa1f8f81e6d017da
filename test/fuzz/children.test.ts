import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Desired } from "../../src/model/manifest.ts";
import { createFrameReader } from "../../src/runner/frames.ts";
import { parseFromRunner } from "../../src/runner/protocol.ts";
import { readMarks } from "../../src/runner/resolver-marks.ts";
import { parseReport } from "../../src/runner/resolver-protocol.ts";
import { resultsReader } from "../../src/runner/resolver-results.ts";
import { changed, expectUnpolluted, mangled, tries } from "./support/inputs.ts";

/** What children say: project code runs in them, and may say anything in their place. */

const attempt = { visit: 1, node: "n", attempt: 1 };
const RUNNER: unknown[] = [
  { type: "ready" },
  { type: "loadFailed", message: "m" },
  { type: "log", pass: 1, level: "info", message: "m", fields: { a: [1, { b: "c" }] } },
  {
    type: "call",
    pass: 1,
    id: 1,
    method: "beginEffect",
    params: { key: "k", kind: "merge", request: { a: 1 }, provenAbsent: false },
  },
  {
    type: "call",
    pass: 1,
    id: 2,
    method: "appendJournal",
    params: {
      entries: [
        { event: "begun", at: 1, ...attempt, kind: "action", input: {} },
        {
          event: "failed",
          at: 1,
          ...attempt,
          kind: "shell",
          startedAt: 1,
          error: { message: "m", reason: "r" },
          retryable: true,
        },
      ],
    },
  },
  {
    type: "result",
    pass: 1,
    rss: 1,
    retire: false,
    result: {
      kind: "requeueAfter",
      delayMs: 5,
      resourceManagerStatus: {},
      conditions: [{ type: "Ready", status: true, reason: "R", message: "m" }],
    },
  },
  {
    type: "executed",
    pass: 1,
    rss: 1,
    retire: true,
    result: { kind: "ran", ending: { state: "waiting", reason: "Answer", message: "m" } },
  },
  { type: "mapped", pass: 1, rss: 1, retire: false, result: { kind: "keys", keys: ["a"] } },
  { type: "pong", pass: 1 },
];
const SHA = "a".repeat(64);
const place = { file: "f", line: 1, column: 1 };
const RESOLVER: unknown[] = [
  { kind: "problems", items: [{ ...place, path: "spec", message: "m", frame: "f" }] },
  { kind: "files", items: [{ file: "f", sha256: SHA }] },
  { kind: "imports", items: { f: ["g"] } },
  {
    kind: "managers",
    items: [
      {
        name: "m",
        path: "/p",
        scope: "project",
        digest: SHA,
        inputs: [{ path: "/p", sha256: SHA }],
        specSchema: { type: "object" },
        secretPaths: ["a"],
        sources: [{ kind: "every", everyMs: 5 }],
        deadlineMs: 5,
        maxConcurrent: 1,
        bundle: "b",
      },
    ],
  },
  { kind: "specsLoaded" },
  { kind: "done" },
];

const json = (value: unknown): string => JSON.stringify(value) ?? "null";
const lines = (samples: unknown[]) =>
  fc
    .array(changed(samples).map(json), { minLength: 1, maxLength: 3 })
    .map((texts) => `${texts.join("\n")}\n`);

/** Reads bytes as a parent does, in pieces; says how many messages were taken and refused. */
function take(bytes: Buffer, limit: number, parse: (frame: string) => object): void {
  let held = 0;
  let isOver = false;
  const reader = createFrameReader(
    limit,
    (frame, size) => {
      held = Math.max(held, size);
      try {
        parse(frame);
      } catch (thrown) {
        // Anything but a refusal is a fault of the reader's own.
        if (thrown instanceof TypeError || thrown instanceof RangeError) throw thrown;
      }
    },
    () => (isOver = true),
  );
  for (let from = 0; from < bytes.length; from += 97) reader.push(bytes.subarray(from, from + 97));
  expect(held).toBeLessThanOrEqual(limit);
  if (isOver) expect(bytes.length).toBeGreaterThan(limit);
}

describe("what a runner sends is a message or a refusal", () => {
  it("with places changed", () => {
    fc.assert(
      fc.property(lines(RUNNER), (text) => take(Buffer.from(text), 50_000, parseFromRunner)),
      tries(12_000),
    );
    expectUnpolluted();
  });

  it("with bytes changed", () => {
    fc.assert(
      fc.property(mangled(lines(RUNNER)), (bytes) => take(bytes, 2_000, parseFromRunner)),
      tries(12_000),
    );
    expectUnpolluted();
  });
});

describe("what a resolver sends is a report or a refusal", () => {
  it("with places changed", () => {
    fc.assert(
      fc.property(lines(RESOLVER), (text) => take(Buffer.from(text), 50_000, parseReport)),
      tries(10_000),
    );
    expectUnpolluted();
  });

  it("with bytes changed", () => {
    fc.assert(
      fc.property(mangled(lines(RESOLVER)), (bytes) => take(bytes, 2_000, parseReport)),
      tries(10_000),
    );
    expectUnpolluted();
  });

  const head = {
    resourceManager: "m",
    key: "k",
    specHash: SHA,
    labels: { a: "b" },
    dependsOn: ["m/l"],
    place,
    lengths: [9, 2],
  };
  const frame = changed([[head], [head, { ...head, lengths: [4, 4] }]]).map((heads) => {
    const text = Buffer.from(json(heads));
    const body = Buffer.from('{"a":"b"}{}{"a"}');
    const lengths = Buffer.alloc(8);
    lengths.writeUInt32LE(text.length, 0);
    lengths.writeUInt32LE(body.length, 4);
    return Buffer.concat([lengths, text, body]);
  });
  it.each([
    ["places", frame],
    ["bytes", mangled(frame)],
  ])("manifests, with %s changed", (_what, frames) => {
    fc.assert(
      fc.property(frames, (bytes) => {
        const found: Desired[] = [];
        const reader = resultsReader(10_000, (items) => found.push(...items));
        try {
          reader.push(bytes);
        } catch (thrown) {
          if (thrown instanceof TypeError || thrown instanceof RangeError) throw thrown;
        }
        for (const { key, labels, spec } of found) {
          expect([typeof key, typeof labels, typeof spec]).toEqual(["string", "object", "string"]);
        }
      }),
      tries(10_000),
    );
    expectUnpolluted();
  });

  it("marks, with bytes changed", async () => {
    const marks = mangled(
      fc.constantFrom('\0"a.resource.ts"\n', '\0""\nraw\0"b"\n', "raw\0\0\n\0{}\n"),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(marks), async (chunks) => {
        const stream = new PassThrough();
        const seen: unknown[] = [];
        const output = readMarks(stream, (file) => seen.push(file));
        const ended = new Promise((resolve) => stream.once("end", resolve));
        for (const chunk of chunks) stream.write(chunk);
        stream.end();
        await ended;
        expect(seen.every((file) => file === undefined || typeof file === "string")).toBe(true);
        expect(output()?.text.length ?? 0).toBeLessThan(100_000);
      }),
      tries(3_000),
    );
  });
});
