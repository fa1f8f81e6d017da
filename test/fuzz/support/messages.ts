const attempt = { visit: 1, node: "n", attempt: 1 };
/** One of each that a runner says. */
export const FROM_RUNNER: unknown[] = [
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
/** One of each that a resolver says. */
export const FROM_RESOLVER: unknown[] = [
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

/** Of a manifest as a resolver hands it over. */
export const MANIFEST_HEAD = {
  resourceManager: "m",
  key: "k",
  specHash: SHA,
  labels: { a: "b" },
  dependsOn: ["m/l"],
  place,
  lengths: [9, 2],
};

/** The frame of heads of manifests and of their bodies, with lengths that are true. */
export function manifestFrame(heads: unknown, bodies: string): Buffer {
  const text = Buffer.from(JSON.stringify(heads) ?? "null");
  const lengths = Buffer.alloc(8);
  lengths.writeUInt32LE(text.length, 0);
  lengths.writeUInt32LE(Buffer.byteLength(bodies), 4);
  return Buffer.concat([lengths, text, Buffer.from(bodies)]);
}
