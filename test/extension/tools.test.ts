import { describe, expect, it } from "vitest";
import { boundedText } from "../../src/extension/bounded.ts";
import { TOOLS } from "../../src/extension/tools.ts";

type Property = { type: string; enum?: string[]; description?: string };
type Schema = { properties: Record<string, Property>; required: string[] } & Record<
  string,
  unknown
>;
const schemaOf = ({ parameters }: { parameters: object }) => parameters as Schema;

describe("the model's tools", () => {
  it("have names of their own and offer neither deletion nor force", () => {
    expect(TOOLS.map(({ name }) => name)).toEqual(["resources", "workflow_runs"]);
    const actions = TOOLS.map((tool) => schemaOf(tool).properties["action"]?.enum);
    expect(actions).toEqual([
      ["list", "get", "explain", "diff", "apply", "reconcile"],
      ["start", "list", "show", "answer"],
    ]);
    const names = TOOLS.flatMap((tool) => Object.keys(schemaOf(tool).properties));
    expect(names.filter((name) => /force|delete|prune/.test(name))).toEqual([]);
  });

  it("have schemas that every provider takes: flat objects of scalars", () => {
    for (const tool of TOOLS) {
      const schema = schemaOf(tool);
      expect(schema["type"]).toBe("object");
      expect(schema.required).toEqual(["action"]);
      expect(JSON.stringify(schema)).not.toMatch(/\$ref|\$schema|oneOf|anyOf|allOf|"not"/);
      for (const { type } of Object.values(schema.properties)) {
        expect(["string", "integer", "boolean"]).toContain(type);
      }
    }
  });

  it("take little of the model's attention: at most 3,500 characters in all", () => {
    const copy = TOOLS.map((tool) =>
      [tool.name, tool.description, tool.promptSnippet, JSON.stringify(tool.parameters)].join(""),
    ).join("");
    expect(copy.length).toBeLessThanOrEqual(3_500);
  });
});

describe("what a tool says", () => {
  const lines = (count: number) => Array.from({ length: count }, (_one, at) => `line ${at}`);

  it("is whole where it is short", () => {
    expect(boundedText("one\ntwo", 0)).toBe("one\ntwo");
  });

  it("is cut where it is long, says how to get the rest, and misses nothing", () => {
    const whole = lines(1_000);
    const seen: string[] = [];
    for (let offset: number | undefined = 0; offset !== undefined;) {
      const said: string[] = boundedText(whole.join("\n"), offset).split("\n");
      const next: string | undefined = /call again with offset (\d+)$/.exec(said.at(-1) ?? "")?.[1];
      seen.push(...(next === undefined ? said : said.slice(0, -1)));
      offset = next === undefined ? undefined : Number(next);
    }
    expect(seen).toEqual(whole);
  });

  it("is bounded in characters too", () => {
    const said = boundedText(`${"x".repeat(1_000_000)}\nend`, 0);
    expect(said.length).toBeLessThan(20_000);
    expect(said).toMatch(/… \(cut\)\n… 1 more lines: call again with offset 1$/);
    expect(
      boundedText(
        lines(5_000)
          .map((one) => one.padEnd(400))
          .join("\n"),
        0,
      ).length,
    ).toBeLessThan(20_000);
  });

  it("says so where there is no such line", () => {
    expect(boundedText("one\ntwo", 7)).toBe("There are only 2 lines.");
  });
});
