import { Ajv2020 } from "ajv/dist/2020.js";
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { maskPlan } from "../../src/diff/mask-plan.ts";
import { secretPathsOf } from "../../src/diff/mask.ts";
import { planChanges } from "../../src/diff/plan.ts";
import type { PlanInput } from "../../src/diff/plan.ts";
import { renderFields } from "../../src/diff/render/fields.ts";
import { renderJson } from "../../src/diff/render/json.ts";
import { MARKDOWN_LIMIT, renderMarkdown } from "../../src/diff/render/markdown.ts";
import { PLAIN } from "../../src/diff/render/palette.ts";
import type { Palette } from "../../src/diff/render/palette.ts";
import { renderTable } from "../../src/diff/render/table.ts";
import { renderUnified } from "../../src/diff/render/unified.ts";
import type { ShownPlan } from "../../src/diff/schema.ts";
import { canonicalJson } from "../../src/model/canonical.ts";
import type { Json } from "../../src/model/canonical.ts";
import {
  declared,
  EVERYTHING,
  loaded,
  manager,
  OTHER_SET,
  problemIn,
  request,
  stored,
} from "./specs.ts";

function shownPlan(input: Partial<PlanInput>): ShownPlan {
  const managers = [manager("job", ["token"])];
  const plan = planChanges({
    request: request({ prune: EVERYTHING }),
    loaded: { ...(input.loaded ?? loaded([])), managers },
    snapshot: { revision: 1, resources: [] },
    specs: new Map(),
    ...(input.snapshot && { snapshot: input.snapshot }),
    ...(input.specs && { specs: input.specs }),
  });
  return { ...maskPlan(plan, secretPathsOf(managers)), id: "0123456789abcdef" };
}

function changed(before: Json, after: Json): ShownPlan {
  return shownPlan({
    loaded: loaded([declared("a", after)]),
    snapshot: { revision: 1, resources: [stored("a", before)] },
    specs: new Map([["uid-a", canonicalJson(before)]]),
  });
}

const mixed = shownPlan({
  loaded: loaded([
    declared("new", { size: 1 }),
    declared("changed", { steps: [{ name: "build", run: "make all" }], token: "t2", wait: 5 }),
    declared("same"),
    declared("moved", { size: 1 }, { place: { file: "b/moved.json", line: 1, column: 1 } }),
    declared("labelled", { size: 1 }, { labels: { team: "x" } }),
    declared("theirs"),
  ]),
  snapshot: {
    revision: 1,
    resources: [
      stored("changed", { steps: [{ name: "build", run: "make" }], token: "t1" }),
      stored("same"),
      stored("moved", { size: 1 }),
      stored("labelled"),
      stored("theirs", undefined, { owner: OTHER_SET }),
      stored("gone"),
    ],
  },
  specs: new Map([["uid-changed", '{"steps":[{"name":"build","run":"make"}],"token":"t1"}']]),
});

const held = shownPlan({
  loaded: loaded([declared("keep")]),
  snapshot: { revision: 1, resources: ["a", "b", "c", "d"].map((key) => stored(key)) },
});

const COLOURED: Palette = {
  bold: (text) => `<b>${text}</b>`,
  dim: (text) => `<dim>${text}</dim>`,
  red: (text) => `<red>${text}</red>`,
  green: (text) => `<green>${text}</green>`,
  yellow: (text) => `<yellow>${text}</yellow>`,
  cyan: (text) => `<cyan>${text}</cyan>`,
};

describe("the table", () => {
  it("has one line per resource that changes, and the counts", () => {
    expect(renderTable(mixed, { palette: PLAIN })).toMatchInlineSnapshot(`
      "ACTION      RESOURCE      WHY
      ~ update    job changed   spec.steps[name=build].run changed; spec.token changed; spec.wait was added
      ~ update    job labelled  labels.team was added; the spec is the same, so the generation stays
      > move      job moved     moved from specs/moved.resource.json to b/moved.json
      + create    job new       is new in specs/new.resource.json
      ! conflict  job theirs    belongs to sync set main (specs/theirs.resource.json); change it there, take it over with --force, or delete it there first
      - prune     job gone      specs/gone.resource.json is gone

      1 to create, 2 to update, 1 to move, 1 to prune, 1 conflict, 1 unchanged (plan 0123456789ab)
      "
    `);
  });

  it("wraps the reasons at the terminal's width", () => {
    const text = renderTable(mixed, { palette: PLAIN, width: 60 });
    expect(text).toMatchInlineSnapshot(`
      "ACTION      RESOURCE            WHY
      ~ update    job changed         spec.steps[name=build].run
                                      changed; spec.token
                                      changed; spec.wait was
                                      added
      ~ update    job labelled        labels.team was added; the
                                      spec is the same, so the
                                      generation stays
      > move      job moved           moved from
                                      specs/moved.resource.json
                                      to b/moved.json
      + create    job new             is new in
                                      specs/new.resource.json
      ! conflict  job theirs          belongs to sync set main
                                      (specs/theirs.resource.jso
                                      n); change it there, take
                                      it over with --force, or
                                      delete it there first
      - prune     job gone            specs/gone.resource.json
                                      is gone

      1 to create, 2 to update, 1 to move, 1 to prune, 1 conflict, 1 unchanged (plan 0123456789ab)
      "
    `);
    const rows = text.split("\n\n")[0] as string;
    expect(Math.max(...rows.split("\n").map((line) => line.length))).toBeLessThanOrEqual(60);
  });

  it("lists what is unchanged where that is asked for", () => {
    expect(renderTable(mixed, { palette: PLAIN, all: true })).toContain("= unchanged  job same");
  });

  it("says why a prune is held and how to confirm it", () => {
    expect(renderTable(held, { palette: PLAIN })).toMatchInlineSnapshot(`
      "ACTION    RESOURCE  WHY
      + create  job keep  is new in specs/keep.resource.json
      - prune   job d     specs/d.resource.json is gone
      - prune   job c     specs/c.resource.json is gone
      - prune   job b     specs/b.resource.json is gone
      - prune   job a     specs/a.resource.json is gone

      Prune held: 4 resources would go.
        4 of 4 resources would be pruned; more than 3 and more than 10 % need a confirmation
        To confirm exactly this: --confirm-prune a2f6be630abd95cd2f4485b02b4302fa26b324d9f75fe345917d2e0430f48607
      1 to create, 4 to prune (held) (plan 0123456789ab)
      "
    `);
  });

  it("says where the problems are", () => {
    const frame = "> 1 | {,}\n    |  ^";
    const problems = [{ ...problemIn("specs/bad.json"), frame }];
    const plan = shownPlan({ loaded: loaded([], { problems }) });
    expect(renderTable(plan, { palette: PLAIN })).toMatchInlineSnapshot(`
      "Problems:
      specs/bad.json:1:1: is not JSON
      > 1 | {,}
          |  ^

      1 problem (plan 0123456789ab)
      "
    `);
  });

  it("uses the colours given", () => {
    const plan = shownPlan({ loaded: loaded([declared("new")]) });
    expect(renderTable(plan, { palette: COLOURED })).toContain("<green>+ create</green>");
  });

  it("says that nothing is there", () => {
    expect(renderTable(shownPlan({}), { palette: PLAIN })).toBe(
      "no resources (plan 0123456789ab)\n",
    );
  });
});

describe("field lines", () => {
  it("show each field before and after", () => {
    expect(renderFields(mixed, { palette: PLAIN })).toMatchInlineSnapshot(`
      "~ update job changed
          spec.steps[name=build].run: "make" → "make all"
          spec.token: "*** (1)" → "*** (2)"
          spec.wait: 5 (added)

      ~ update job labelled
          the spec is the same, so the generation stays
          labels.team: "x" (added)

      > move job moved
          moved from specs/moved.resource.json to b/moved.json

      + create job new
          is new in specs/new.resource.json
          spec.size: 1 (added)

      ! conflict job theirs
          belongs to sync set main (specs/theirs.resource.json)
          change it there, take it over with --force, or delete it there first

      - prune job gone
          specs/gone.resource.json is gone

      1 to create, 2 to update, 1 to move, 1 to prune, 1 conflict, 1 unchanged (plan 0123456789ab)
      "
    `);
  });

  it("show long values where they differ", () => {
    const long = "x".repeat(500);
    const text = renderFields(changed({ text: `${long}before` }, { text: `${long}after` }), {
      palette: PLAIN,
    });
    expect(text).toContain('xxxxxxxbefore" (508 characters) → …xxxxxxx');
  });
});

describe("the unified form", () => {
  it("shows manifests as lines", () => {
    expect(renderUnified(mixed, { palette: PLAIN })).toMatchInlineSnapshot(`
      "# ~ update job changed
      #   spec.steps[name=build].run changed
      #   spec.token changed
      #   spec.wait was added
      --- stored/job changed
      +++ declared/job changed
      @@ -3,9 +3,10 @@
           "steps": [
             {
               "name": "build",
      -        "run": "make"
      +        "run": "make all"
             }
           ],
      -    "token": "*** (1)"
      +    "token": "*** (2)",
      +    "wait": 5
         }
       }

      # ~ update job labelled
      #   labels.team was added
      #   the spec is the same, so the generation stays
      --- stored/job labelled
      +++ declared/job labelled
      @@ -1,4 +1,5 @@
       {
      +  "labels.team": "x",
         "spec": {
           "size": 1
         }

      # > move job moved
      #   moved from specs/moved.resource.json to b/moved.json

      # + create job new
      #   is new in specs/new.resource.json
      --- /dev/null
      +++ declared/job new
      @@ -0,0 +1,5 @@
      +{
      +  "spec": {
      +    "size": 1
      +  }
      +}

      # ! conflict job theirs
      #   belongs to sync set main (specs/theirs.resource.json)
      #   change it there, take it over with --force, or delete it there first

      # - prune job gone
      #   specs/gone.resource.json is gone

      # 1 to create, 2 to update, 1 to move, 1 to prune, 1 conflict, 1 unchanged (plan 0123456789ab)
      "
    `);
  });

  it("takes the lines of context", () => {
    const list = (last: number) => ({ list: [1, 2, 3, 4, 5, last] });
    const lines = (context: number) =>
      renderUnified(changed(list(6), list(7)), { palette: PLAIN, context })
        .split("\n")
        .filter((line) => line.startsWith(" "));
    expect(lines(0)).toEqual([]);
    expect(lines(1)).toEqual(["       5,", "     ]"]);
  });

  it("does not search for ever in specs that have nothing in common", () => {
    const lines = (from: number) => ({ list: Array.from({ length: 20_000 }, (_, i) => from + i) });
    expect(renderUnified(changed(lines(0), lines(50_000)), { palette: PLAIN })).toContain(
      "… more than 2000 lines differ",
    );
  });
});

describe("the JSON form", () => {
  it("is one document with a version and without the bodies of what is unchanged", () => {
    const plan = JSON.parse(renderJson(mixed)) as ShownPlan;
    expect(plan.version).toBe(1);
    expect(plan.actions.find(({ key }) => key === "same")?.desired).not.toHaveProperty("spec");
    expect(plan.actions.find(({ key }) => key === "new")?.desired?.spec).toEqual({ size: 1 });
    expect(renderJson(mixed)).not.toContain("initialStatus");
  });
});

describe("the JSON form and schemas/plan.schema.json", () => {
  const schema = JSON.parse(readFileSync("schemas/plan.schema.json", "utf8")) as object;
  const validate = new Ajv2020({ strict: true }).compile(schema);

  it.each([
    ["mixed", mixed],
    ["held", held],
    ["empty", shownPlan({})],
  ])("agree: %s", (_, plan) => {
    validate(JSON.parse(renderJson(plan)));
    expect(validate.errors).toBeNull();
  });
});

describe("the Markdown form", () => {
  it("folds up each resource", () => {
    expect(renderMarkdown(mixed)).toMatchInlineSnapshot(`
      "### pi-workflows plan: 1 to create, 2 to update, 1 to move, 1 to prune, 1 conflict, 1 unchanged

      <details><summary>~ update <code>job changed</code></summary>

      - \`spec.steps[name=build].run changed\`
      - \`spec.token changed\`
      - \`spec.wait was added\`

      \`\`\`diff
      @@ -3,9 +3,10 @@
           "steps": [
             {
               "name": "build",
      -        "run": "make"
      +        "run": "make all"
             }
           ],
      -    "token": "*** (1)"
      +    "token": "*** (2)",
      +    "wait": 5
         }
       }
      \`\`\`

      </details>

      <details><summary>~ update <code>job labelled</code></summary>

      - \`labels.team was added\`
      - \`the spec is the same, so the generation stays\`

      \`\`\`diff
      @@ -1,4 +1,5 @@
       {
      +  "labels.team": "x",
         "spec": {
           "size": 1
         }
      \`\`\`

      </details>

      <details><summary>> move <code>job moved</code></summary>

      - \`moved from specs/moved.resource.json to b/moved.json\`

      </details>

      <details><summary>+ create <code>job new</code></summary>

      - \`is new in specs/new.resource.json\`

      \`\`\`diff
      @@ -0,0 +1,5 @@
      +{
      +  "spec": {
      +    "size": 1
      +  }
      +}
      \`\`\`

      </details>

      <details><summary>! conflict <code>job theirs</code></summary>

      - \`belongs to sync set main (specs/theirs.resource.json)\`
      - \`change it there, take it over with --force, or delete it there first\`

      </details>

      <details><summary>- prune <code>job gone</code></summary>

      - \`specs/gone.resource.json is gone\`

      </details>

      <sub>plan \`0123456789ab\`, store revision 1</sub>
      "
    `);
  });

  it("warns of a held prune", () => {
    expect(renderMarkdown(held)).toContain(
      "> [!WARNING]\n> ```text\n> Prune held: 4 resources would go.",
    );
  });

  it("is bounded, and says how much it leaves out", () => {
    const spec = { text: "y".repeat(1_000) };
    const many = loaded(Array.from({ length: 300 }, (_, index) => declared(`k${index}`, spec)));
    const text = renderMarkdown(shownPlan({ loaded: many }));
    expect(text.length).toBeLessThanOrEqual(MARKDOWN_LIMIT);
    expect(text.length).toBeGreaterThan(MARKDOWN_LIMIT / 2);
    expect(text).toMatch(/_\d+ more of 300 resources are not shown\._/);
  });

  it("lets no value end its block or be read as markup", () => {
    const spec = { text: "```\n</details>\n@everybody", "````": 1 };
    const desired = declared("a<b>`c`", spec);
    const text = renderMarkdown(shownPlan({ loaded: loaded([desired]) }));
    expect(text).toContain("<code>job a&lt;b&gt;`c`</code>");
    expect(text).toContain("`````diff\n");
    expect(text.split("\n").filter((line) => line === "</details>")).toHaveLength(1);
  });
});

describe("every text form", () => {
  const evil = "\u001b[2J\u0007\u009b31m\u202Eabc\r\u2028";
  const plan = shownPlan({
    loaded: loaded(
      [
        declared(`new${evil}`, { [`key${evil}`]: `value${evil}` }),
        declared("b", { text: `after${evil}` }, { labels: { [evil]: evil } }),
      ],
      { problems: [{ ...problemIn(`x${evil}.json`, evil), path: evil, frame: evil }] },
    ),
    snapshot: {
      revision: 1,
      resources: [stored("b", { text: evil }), stored(`gone${evil}`, 1, { file: `f${evil}` })],
    },
    specs: new Map([["uid-b", canonicalJson({ text: evil })]]),
  });

  it.each([
    ["table", renderTable(plan, { palette: PLAIN, width: 80 })],
    ["fields", renderFields(plan, { palette: PLAIN })],
    ["unified", renderUnified(plan, { palette: PLAIN })],
    ["markdown", renderMarkdown(plan)],
  ])("spells what a terminal might obey: %s", (_, text) => {
    expect(text).toContain("\\u001b");
    expect(text).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u2028-\u202E]/);
  });
});
