import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Masks, maskValue, secretPathsOf } from "../../src/diff/mask.ts";
import { maskPlan } from "../../src/diff/mask-plan.ts";
import { planChanges } from "../../src/diff/plan.ts";
import { PLAIN } from "../../src/diff/render/palette.ts";
import { renderFields } from "../../src/diff/render/fields.ts";
import { renderJson } from "../../src/diff/render/json.ts";
import { renderMarkdown } from "../../src/diff/render/markdown.ts";
import { renderTable } from "../../src/diff/render/table.ts";
import { renderUnified } from "../../src/diff/render/unified.ts";
import { planJsonSchema } from "../../src/diff/schema.ts";
import type { ShownPlan } from "../../src/diff/schema.ts";
import { canonicalJson } from "../../src/model/canonical.ts";
import type { Json } from "../../src/model/canonical.ts";
import type { Problem } from "../../src/model/manifest.ts";
import { declared, loaded, manager, OTHER_SET, problemIn, request, stored } from "./specs.ts";

function shown(
  before: Json | undefined,
  after: Json,
  secretPaths: string[],
  { problems = [], reveal = false }: { problems?: Problem[]; reveal?: boolean } = {},
): ShownPlan {
  const managers = [manager("job", secretPaths)];
  const plan = planChanges({
    request: request(),
    loaded: loaded([declared("a", after)], { managers, problems }),
    snapshot: { revision: 1, resources: before === undefined ? [] : [stored("a", before)] },
    specs: new Map([["uid-a", canonicalJson(before ?? null)]]),
  });
  return maskPlan(plan, secretPathsOf(managers), { reveal });
}

function everyForm(plan: ShownPlan): string {
  const options = { palette: PLAIN, width: 80, all: true };
  return [
    renderTable(plan, options),
    renderFields(plan, options),
    renderUnified(plan, options),
    renderJson(plan),
    renderMarkdown(plan),
  ].join("\n");
}

describe("a masked plan", () => {
  it("shows that a secret changed, and not what it is", () => {
    const plan = shown({ token: "old", url: "x" }, { token: "new", url: "y" }, ["token"]);
    expect(plan.actions[0]?.changes).toEqual([
      { path: "spec.token", before: "*** (1)", after: "*** (2)" },
      { path: "spec.url", before: "x", after: "y" },
    ]);
  });

  it("gives equal secrets one number over the whole plan", () => {
    const plan = shown({ a: "one", b: "two" }, { a: "two", b: "two", c: "one" }, ["a", "b", "c"]);
    expect(plan.actions[0]?.current?.spec).toEqual({ a: "*** (1)", b: "*** (2)" });
    expect(plan.actions[0]?.desired?.spec).toEqual({ a: "*** (2)", b: "*** (2)", c: "*** (1)" });
  });

  it("masks secrets inside parts that are new or gone as a whole", () => {
    const users = [{ name: "ann", password: "p1" }];
    const plan = shown({}, { users }, ["users[].password"]);
    expect(plan.actions[0]?.changes).toEqual([
      { path: "spec.users", after: [{ name: "ann", password: "*** (1)" }] },
    ]);
  });

  it("finds secrets through names of items, odd member names and any member", () => {
    const secrets = ["users[].password", '["odd name"].key', "env.*"];
    const spec = (n: number) => ({
      users: [{ name: "ann", password: `p${n}` }],
      "odd name": { key: `k${n}` },
      env: { A: `e${n}` },
    });
    const changes = shown(spec(1), spec(2), secrets).actions[0]?.changes ?? [];
    expect(changes.map(({ path, after }) => [path, after])).toEqual([
      ["spec.env.A", expect.stringMatching(/^\*\*\* \(\d+\)$/)],
      ['spec["odd name"].key', expect.stringMatching(/^\*\*\* \(\d+\)$/)],
      ["spec.users[name=ann].password", expect.stringMatching(/^\*\*\* \(\d+\)$/)],
    ]);
  });

  it("masks whole what a secret path goes through and an older spec has in another form", () => {
    const plan = shown({ auth: "hunter2" }, { auth: { token: "x", user: "ann" } }, ["auth.token"]);
    expect(everyForm(plan)).not.toContain("hunter2");
  });

  it("masks what looks like a credential although no schema says so", () => {
    const token = `ghp_${"a".repeat(36)}`;
    const plan = shown({ note: "none" }, { note: token, url: `https://u:${token}@host/` }, []);
    expect(everyForm(plan)).not.toContain(token);
  });

  it("hides secrets in the messages and source lines of problems", () => {
    const problem = {
      ...problemIn("bad.json", 'token: "hunter2-long" is too short'),
      frame: '> 1 | {"spec": {"token": "never-loaded", "url":\n    |  ^',
    };
    const text = everyForm(
      shown(undefined, { token: "hunter2-long" }, ["token"], { problems: [problem] }),
    );
    expect(text).not.toContain("hunter2-long");
    expect(text).not.toContain("never-loaded");
  });

  it("hides everything where a secret path can't be read", () => {
    expect(everyForm(shown(undefined, { value: "hunter2-long" }, ["what ["]))).not.toContain(
      "hunter2",
    );
  });

  it("hides everything where a secret path quotes what is no text", () => {
    for (const path of ['a["\\q"]', 'a["b\nc"]', 'a["\\u12"]']) {
      expect(JSON.stringify(maskValue({ b: "seen" }, [path]))).not.toContain("seen");
    }
  });

  it("masks below a secret path too, where the plan was made without knowing of it", () => {
    const plan = planChanges({
      request: request(),
      loaded: loaded([declared("a", { auth: { user: "x", token: "hunter2" } })]),
      snapshot: { revision: 1, resources: [stored("a", { auth: { user: "x", token: "old" } })] },
      specs: new Map([["uid-a", '{"auth":{"token":"old","user":"x"}}']]),
    });
    const masked = maskPlan(plan, new Map([["job", ["auth"]]]));
    expect(masked.actions[0]?.changes).toEqual([
      { path: "spec.auth.token", before: "*** (3)", after: "*** (4)" },
    ]);
  });

  it("shows secrets where that is asked for", () => {
    expect(shown({ t: "old" }, { t: "new" }, ["t"], { reveal: true }).actions[0]?.changes).toEqual([
      { path: "spec.t", before: "old", after: "new" },
    ]);
  });

  it("has the form that the schema says", () => {
    const plan = shown({ token: "old" }, { token: "new" }, ["token"], {
      problems: [problemIn("x")],
    });
    expect(() => planJsonSchema.parse(JSON.parse(renderJson(plan)))).not.toThrow();
  });

  it("never shows a secret in any form, wherever it stands", () => {
    // Marked so that they can't be part of anything else that is printed.
    const secret = fc.stringMatching(/^[a-zA-Z0-9 "\\/\n]{1,12}$/).map((text) => `§${text}§`);
    const spec = fc.record(
      {
        token: secret,
        nested: fc.record({ deep: fc.array(fc.record({ key: secret, note: fc.constant("n") })) }),
        users: fc.array(fc.record({ name: secret, password: secret })),
        env: fc.dictionary(fc.constantFrom("A", "B", "C"), secret, { noNullPrototype: true }),
        shape: fc.oneof(secret, fc.record({ inner: secret }), fc.array(secret)),
      },
      { requiredKeys: [], noNullPrototype: true },
    );
    const paths = [
      "token",
      "nested.deep[].key",
      "users[].name",
      "users[].password",
      "env.*",
      "shape.inner",
    ];
    fc.assert(
      fc.property(fc.option(spec, { nil: undefined }), spec, (before, after) => {
        expect(everyForm(shown(before as Json | undefined, after as Json, paths))).not.toContain(
          "§",
        );
      }),
      { numRuns: 300 },
    );
  });
});

describe("the masks of one output", () => {
  const inText = (spec: Json, paths: string[], text: string) => {
    const masks = new Masks();
    maskValue(spec, paths, masks);
    return masks.inText(text);
  };

  it("replace in prose each secret of four characters or more, the longest first", () => {
    const spec = { a: "abc", b: "word", c: "word-and-more", list: ["x", "x", "x", "x"] };
    expect(inText(spec, ["a", "b", "c", "list"], "abc word, word-and-more x,x,x,x")).toBe(
      "abc *** (2), *** (3) x,x,x,x",
    );
  });
});

describe("a plan as it is shown", () => {
  it("holds the place, owner, protection and suspension, and bodies only where they are written", () => {
    const taken = { owner: OTHER_SET, file: "old.json" };
    const plan = planChanges({
      request: request({ force: true }),
      loaded: loaded([
        declared("a", 1, { prune: false, suspend: true }),
        declared("b"),
        declared("new"),
      ]),
      snapshot: { revision: 1, resources: [stored("a", 1, taken), stored("b")] },
      specs: new Map(),
    });
    const [a, b, fresh] = maskPlan(plan, new Map()).actions;
    expect(a).toMatchObject({
      owner: OTHER_SET,
      current: { file: "old.json" },
      desired: { file: "specs/a.resource.json", prune: false, suspend: true, spec: 1 },
    });
    expect(b?.desired).not.toHaveProperty("spec");
    expect(b?.desired).not.toHaveProperty("prune");
    expect(b?.desired).not.toHaveProperty("suspend");
    expect(b).not.toHaveProperty("owner");
    expect(fresh).not.toHaveProperty("current");
    const { file: _file, ...nobodys } = stored("a", 1, { owner: OTHER_SET });
    const taking = planChanges({
      request: request(),
      loaded: loaded([declared("a", 1)]),
      snapshot: { revision: 1, resources: [nobodys] },
      specs: new Map(),
    });
    expect(maskPlan(taking, new Map()).actions[0]?.current).not.toHaveProperty("file");
  });

  it("masks no label that is called as a secret of the spec is", () => {
    const plan = planChanges({
      request: request(),
      loaded: loaded([declared("a", { token: "t" }, { labels: { token: "label" } })]),
      snapshot: { revision: 1, resources: [stored("a", { token: "t" })] },
      specs: new Map(),
    });
    expect(
      maskPlan(plan, new Map([["job", ["token", "labels.token"]]])).actions[0]?.changes,
    ).toEqual([{ path: "labels.token", after: "label" }]);
  });

  it("shows the order of names, unless names are secret, or the list is", () => {
    const list = (...names: string[]) => ({ steps: names.map((name) => ({ name, run: "r" })) });
    const plan = planChanges({
      request: request(),
      loaded: loaded([declared("a", list("two", "one"))]),
      snapshot: { revision: 1, resources: [stored("a", list("one", "two"))] },
      specs: new Map([["uid-a", canonicalJson(list("one", "two"))]]),
    });
    const changeWith = (...paths: string[]) =>
      maskPlan(plan, new Map([["job", paths]])).actions[0]?.changes?.[0];
    const order = { path: "spec.steps[]", before: ["one", "two"], after: ["two", "one"] };
    expect(changeWith()).toEqual(order);
    expect(changeWith("steps[].run", "token")).toEqual(order);
    for (const paths of [["steps[].name"], ["steps"], ["steps[]"], ["steps[].run", "steps[]"]]) {
      expect(changeWith(...paths)?.after).toMatch(/^\*\*\* \(\d+\)$/);
    }
  });

  it("keeps the lines around a mistake whole where nothing is secret, or secrets are asked for", () => {
    const frame = '> 1 | "token": "shown"';
    const problems = [{ ...problemIn("bad.json"), frame }, problemIn("worse.json")];
    expect(shown(undefined, 1, [], { problems }).problems).toEqual(problems);
    const revealed = shown(undefined, 1, ["token"], { problems, reveal: true }).problems;
    expect(revealed).toEqual(problems);
    for (const made of [shown(undefined, 1, ["token"], { problems }).problems, revealed]) {
      expect(made[1]).not.toHaveProperty("frame");
    }
  });

  it("shows no text or long number of the lines around a mistake where anything is secret", () => {
    const frame = [
      "> 1 | spec: { token: not quoted",
      '  2 | "auth": {',
      `  3 | "user": "hidden 1", 'a\\'b': 'hidden "2"', "size": 12,`,
      '  4 |   12345, "hidden 3", -4567.8,',
      '  5 | const x = 98765 + f("not closed',
      "    | ^ it",
    ].join("\n");
    const problems = [{ ...problemIn("bad.json"), frame }];
    const lines = (...paths: string[]) =>
      shown(undefined, 1, paths, { problems }).problems[0]?.frame?.split("\n");
    expect(lines("token", "auth", "env.*", "list[]")).toEqual([
      "> 1 | spec: { token: ***",
      '  2 | "auth": {',
      `  3 | "user": ***, 'a\\'b': ***, "size": 12,`,
      "  4 |   ***, ***, ***,",
      "  5 | const x = *** + f(***",
      "    | ^ it",
    ]);
    expect(lines('["a.b"]')?.[1]).toBe('  2 | "auth": {');
    expect(lines("what [")?.join()).not.toMatch(/hidden|12345|quoted/);
  });

  it("shows no line of code where anything is secret: it may be the middle of a text", () => {
    const frame = "> 2 | the middle of a key\n    | ^ it";
    const [code] = shown(undefined, 1, ["token"], {
      problems: [{ ...problemIn("bad.ts"), frame }],
    }).problems;
    expect(code).not.toHaveProperty("frame");
  });
});

describe("a masked value", () => {
  it("keeps what is not secret", () => {
    const spec = { token: "t", list: [{ password: "p", n: 1 }], none: null };
    expect(maskValue(spec, ["token", "list[].password"])).toEqual({
      token: "*** (1)",
      list: [{ password: "*** (2)", n: 1 }],
      none: null,
    });
  });

  it("is hidden where any of several secret paths ends, and not where it is empty", () => {
    const auth = { token: "t", user: "u" };
    expect(maskValue({ auth }, ["auth.token", "auth"])).toEqual({ auth: "*** (1)" });
    expect(maskValue({ auth: null }, ["auth.token"])).toEqual({ auth: null });
  });

  it("is hidden below an odd name, and only there", () => {
    expect(maskValue({ "odd name": { key: "k", n: 1 } }, ['["odd name"].key'])).toEqual({
      "odd name": { key: "*** (1)", n: 1 },
    });
  });
});
