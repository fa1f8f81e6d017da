/** A manifest with everything that one may have. */
export const MANIFEST = {
  $schema: "s",
  resourceManager: "counter",
  key: "acme/widgets#42",
  spec: { merge: { method: "squash", checks: ["a", "b"] }, draft: false },
  labels: { team: "a" },
  dependsOn: ["counter/a"],
  prune: false,
};
/** Spec files as people write them. */
export const SPEC_TEXTS = [
  JSON.stringify(MANIFEST),
  JSON.stringify([MANIFEST, { ...MANIFEST, key: "b" }], null, 2),
  `// a comment\n{ "resourceManager": "counter", "key": "a", /* b */ "spec": { "a": [1, 2,], }, }\n`,
  `\uFEFF{"resourceManager":"counter","key":"a","spec":"\\ud83d\\ude00"}`,
  '<<<<<<< ours\n{"key":"a"}\n=======\n{"key":"b"}\n>>>>>>> theirs\n',
];
