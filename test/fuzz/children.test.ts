import { PassThrough } from "node:stream";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseFromRunner } from "../../src/runner/protocol.ts";
import { readMarks } from "../../src/runner/resolver-marks.ts";
import { parseReport } from "../../src/runner/resolver-protocol.ts";
import { changed, expectUnpolluted, mangled, tries } from "./support/inputs.ts";
import { FROM_RESOLVER, FROM_RUNNER, MANIFEST_HEAD, manifestFrame } from "./support/messages.ts";
import { readFrames, readManifests } from "./support/reading.ts";

/** What children say: project code runs in them, and may say anything in their place. */

const json = (value: unknown): string => JSON.stringify(value) ?? "null";
const lines = (samples: unknown[]) =>
  fc
    .array(changed(samples).map(json), { minLength: 1, maxLength: 3 })
    .map((texts) => `${texts.join("\n")}\n`);

describe("what a runner sends is a message or a refusal", () => {
  it("with places changed", () => {
    fc.assert(
      fc.property(lines(FROM_RUNNER), (text) =>
        readFrames(Buffer.from(text), 50_000, parseFromRunner),
      ),
      tries(9_000),
    );
    expectUnpolluted();
  });

  it("with bytes changed", () => {
    fc.assert(
      fc.property(mangled(lines(FROM_RUNNER)), (bytes) =>
        readFrames(bytes, 2_000, parseFromRunner),
      ),
      tries(9_000),
    );
    expectUnpolluted();
  });
});

describe("what a resolver sends is a report or a refusal", () => {
  it("with places changed", () => {
    fc.assert(
      fc.property(lines(FROM_RESOLVER), (text) =>
        readFrames(Buffer.from(text), 50_000, parseReport),
      ),
      tries(8_000),
    );
    expectUnpolluted();
  });

  it("with bytes changed", () => {
    fc.assert(
      fc.property(mangled(lines(FROM_RESOLVER)), (bytes) => readFrames(bytes, 2_000, parseReport)),
      tries(8_000),
    );
    expectUnpolluted();
  });

  const frame = changed([
    [MANIFEST_HEAD],
    [MANIFEST_HEAD, { ...MANIFEST_HEAD, lengths: [4, 4] }],
  ]).map((heads) => manifestFrame(heads, '{"a":"b"}{}{"a"}'));
  it.each([
    ["places", frame],
    ["bytes", mangled(frame)],
  ])("manifests, with %s changed", (_what, frames) => {
    fc.assert(fc.property(frames, readManifests), tries(8_000));
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
      tries(2_000),
    );
  });
});
