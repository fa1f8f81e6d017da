import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { maskValue, secretPathsOf } from "../../src/diff/mask.ts";
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
import { declared, loaded, manager, problemIn, request, stored } from "./specs.ts";

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

describe("a masked value", () => {
  it("keeps what is not secret", () => {
    const spec = { token: "t", list: [{ password: "p", n: 1 }], none: null };
    expect(maskValue(spec, ["token", "list[].password"])).toEqual({
      token: "*** (1)",
      list: [{ password: "*** (2)", n: 1 }],
      none: null,
    });
  });
});
