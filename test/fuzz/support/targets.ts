import { parseArgument } from "../../../src/cli/json-argument.ts";
import { parseCount, parseDeleteBound, parseLabel } from "../../../src/cli/flags.ts";
import { parseGoal } from "../../../src/cli/goal.ts";
import { parseDuration as parseWait } from "../../../src/cli/time.ts";
import { diffFields } from "../../../src/diff/fields.ts";
import { maskValue } from "../../../src/diff/mask.ts";
import { parsePath, parseSecretPaths } from "../../../src/diff/path.ts";
import { fieldLine } from "../../../src/diff/render/values.ts";
import { secretValues } from "../../../src/diff/secret-values.ts";
import { parseCall } from "../../../src/extension/grammar.ts";
import { RESOURCE_MANAGER, WORKFLOW } from "../../../src/extension/verbs.ts";
import { wrap } from "../../../src/extension/layout.ts";
import type { Json } from "../../../src/model/canonical.ts";
import { parseDuration } from "../../../src/model/duration.ts";
import { redact } from "../../../src/model/redact.ts";
import { maskSecretsIn } from "../../../src/model/secret-text.ts";
import { printable, printableJson, printableLines, widthOf } from "../../../src/model/text.ts";
import { AnswerWatch } from "../../../src/runner/pi/answer.ts";
import { createLineReader } from "../../../src/runner/pi/lines.ts";
import { awaitQuiet } from "../../../src/runner/pi/settle.ts";
import { createTranscript } from "../../../src/runner/pi/transcript.ts";
import { parseRecord, responseOf } from "../../../src/runner/pi/wire.ts";
import { parseFromRunner } from "../../../src/runner/protocol.ts";
import { parseReport } from "../../../src/runner/resolver-protocol.ts";
import { configSchema } from "../../../src/server/config.ts";
import { REQUESTS } from "../../../src/server/protocol-schemas.ts";
import { cronProblem, nextCron } from "../../../src/sources/cron.ts";
import { locateProperty } from "../../../src/sources/locate-property.ts";
import { isPlainSchema } from "../../../src/sources/plain-schema.ts";
import { covers } from "../../../src/sources/secret-path.ts";
import type { Target } from "./guided.ts";
import { FROM_RESOLVER, FROM_RUNNER, MANIFEST_HEAD, manifestFrame } from "./messages.ts";
import { readFrames, readManifests, readSpecFile, refusesOrGives } from "./reading.ts";
import { MANIFEST, SPEC_TEXTS } from "./spec-texts.ts";

const texts = (values: readonly unknown[]): string[] =>
  values.map((value) => JSON.stringify(value));

/** The value of a JSON text; undefined where it is none, which is no input of these targets. */
function valueOf(input: Buffer): unknown {
  try {
    return JSON.parse(input.toString());
  } catch {
    return undefined;
  }
}

/** What people type as an argument, in a spec or after a slash command. */
function readWords(input: Buffer): void {
  const text = input.toString();
  for (const parse of [parseWait, parseCount, parseDeleteBound, parseGoal]) {
    const parsed = refusesOrGives(() => parse(text));
    // What is not finite is null once it is told to a server.
    JSON.stringify(parsed, (_name, value: unknown) => {
      if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`${value}`);
      return value;
    });
  }
  refusesOrGives(() => parseLabel(text, { a: "b" }));
  refusesOrGives(() => parseArgument(text, { what: "value", example: "1" }));
  for (const grammar of [RESOURCE_MANAGER, WORKFLOW]) {
    refusesOrGives(() => parseCall(grammar, text));
  }
  parseDuration(text);
  parsePath(text);
  parseSecretPaths([text]);
  covers(text, ["a", 0]);
  locateProperty(text, 0, ["a", "b"]);
}

/** What is shown to people. */
function show(input: Buffer): void {
  const text = input.toString();
  for (const shown of [printable(text), printableLines(text), printableJson(text)]) {
    // eslint-disable-next-line no-control-regex
    if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/.test(shown)) throw new Error("obeyed");
  }
  widthOf(text);
  wrap(text, 20);
}

const HIDDEN = "hidden-from-all";

/** Two specs and their manager's secret paths. */
function compare(input: Buffer): void {
  const [before, after, paths] = [valueOf(input)].flat() as [Json?, Json?, unknown?];
  if (before === undefined || after === undefined) return;
  const secretPaths = [paths].flat().filter((path) => typeof path === "string");
  const secrets = secretValues({ a: HIDDEN, b: before }, ["a", ...secretPaths]);
  const masked = [before, after].map((value) => maskSecretsIn(redact(value), secrets) as Json);
  if (JSON.stringify(masked).includes(HIDDEN)) throw new Error("a secret is seen");
  refusesOrGives(() => {
    const sides = masked.map((value) => maskValue(value, secretPaths)) as [Json, Json];
    diffFields(...sides, "spec", parseSecretPaths(secretPaths)).forEach(fieldLine);
  });
}

/** What an agent says while it is asked. */
function listen(input: Buffer): void {
  const watch = new AnswerWatch(() => undefined);
  const turn = awaitQuiet(() => Promise.resolve(undefined));
  const transcript = createTranscript(() => undefined, [HIDDEN]);
  const read = createLineReader(1_000, (line, isCut) => {
    const record = parseRecord(line, isCut);
    if (record === undefined) return;
    responseOf(record);
    turn.take(record);
    watch.take(record);
    transcript.event(record);
  });
  read(input);
  read(Buffer.from("\n"));
  watch.afterTurn();
  watch.inVain();
}

const PI_SAYS = [
  { type: "turn_start" },
  {
    type: "message_end",
    message: { role: "assistant", content: [{ type: "text", text: "a" }], stopReason: "stop" },
  },
  { type: "message_end", message: { role: "assistant", stopReason: "error", errorMessage: "m" } },
  { type: "tool_execution_start", toolName: "bash", args: { command: "ls" } },
  {
    type: "tool_execution_end",
    toolName: "submit_result",
    isError: false,
    result: { content: [{ type: "text", text: "t" }], details: { result: { ok: true } } },
  },
  {
    type: "tool_execution_end",
    toolName: "submit_result",
    isError: true,
    result: { content: "no\n\nReceived arguments:\n{}" },
  },
  { type: "auto_retry_start", attempt: 1, errorMessage: "m" },
];

/** All that reads what others write, by what it reads. */
export const TARGETS: Readonly<Record<string, Target>> = {
  "JSON spec files": { share: 1500, samples: SPEC_TEXTS, take: readSpecFile },
  "frames of a runner": {
    share: 1500,
    samples: texts(FROM_RUNNER).map((text) => `${text}\n`),
    take: (input) => readFrames(input, 2_000, parseFromRunner),
  },
  "frames of a resolver": {
    share: 1500,
    samples: texts(FROM_RESOLVER).map((text) => `${text}\n`),
    take: (input) => readFrames(input, 2_000, parseReport),
  },
  "messages of a runner": {
    share: 1500,
    samples: texts(FROM_RUNNER),
    take: (input) => readFrames(Buffer.concat([input, Buffer.from("\n")]), 5_000, parseFromRunner),
  },
  "manifests of a resolver": {
    share: 1500,
    samples: [manifestFrame([MANIFEST_HEAD], '{"a":"b"}{}')],
    take: readManifests,
  },
  "records of Pi": { share: 2000, samples: texts(PI_SAYS), take: listen },
  "words of people": {
    share: 2000,
    samples: [
      "1h30m",
      "25%",
      "condition=Merged=False",
      "team=core",
      'users[].a["b c"].*',
      'steps[name="x"].run',
      'f({ a: { /* } */ b: "c" } })',
      "apply --prune 'a b' .pi/resources",
      'start w {"a":[1,"}"]}',
      '{"a":1}',
    ],
    take: readWords,
  },
  "cron expressions": {
    share: 300,
    samples: ["*/5 9-17 * * mon", "0 0 29 2 *", "15,45 */2 1-7 jan-mar 7#L"],
    take(input) {
      const text = input.toString();
      if (cronProblem(text, undefined, 0) === undefined) nextCron(text, undefined, 0);
    },
  },
  "texts that are shown": {
    share: 1500,
    samples: ["a\tb\nc\u001b[1m", "漢字 💥 \u202e"],
    take: show,
  },
  "specs that are compared": {
    share: 1500,
    samples: texts([
      [MANIFEST, { ...MANIFEST, spec: { merge: null } }, ["spec.merge"]],
      [{ a: [{ id: 1, b: HIDDEN }] }, { a: [{ id: 2 }, { id: 1 }] }, ["a[].b", "c.*"]],
    ]),
    take: compare,
  },
  "JSON Schemas": {
    share: 1000,
    samples: texts([
      { type: ["object", "null"], required: ["a"], properties: { a: { enum: [1, "b"] } } },
      { allOf: [{ items: { maxLength: 5 } }], not: {}, additionalProperties: false },
    ]),
    take: (input) => void isPlainSchema(valueOf(input)),
  },
  "config.json": {
    share: 500,
    samples: texts([{ webhooks: { port: 0 }, pi: { command: ["pi"], env: ["A"], model: "m" } }]),
    take: (input) => void configSchema.safeParse(valueOf(input)),
  },
  "bodies of requests": {
    share: 1000,
    samples: texts([
      { project: "/p", changes: [{ kind: "delete", manager: "m", key: "k", expected: 1 }] },
      { project: "/p", labels: '{"a":"b"}', limit: 5, notReady: true, after: "x" },
      { runId: "r", visit: 1, resolution: { outcome: "failed", message: "m" } },
    ]),
    take(input) {
      const value = valueOf(input);
      for (const schema of Object.values(REQUESTS)) schema.safeParse(value);
    },
  },
};
