import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parse } from "jsonc-parser";
import { describe, expect, it } from "vitest";
import manager from "../../examples/pull-request/.pi/resource-managers/pull-request.resource-manager.ts";
import { pullRequestSpec } from "../../examples/pull-request/.pi/resource-managers/pull-request/spec.ts";
import dependencies from "../../examples/pull-request/.pi/resources/acme-dependencies.resource.ts";
import { manifestSchema } from "../../src/model/manifest.ts";

const example = (file: string) =>
  readFileSync(
    fileURLToPath(new URL(`../../examples/pull-request/${file}`, import.meta.url)),
    "utf8",
  );

describe("the examples of the pull-request manager", () => {
  it("its definition has the name of its file", () => {
    expect(manager.name).toBe("pull-request");
    expect(manager.sources).toMatchObject([
      { kind: "every", everyMs: 60_000 },
      { kind: "webhook", name: "github", deliveryHeader: "x-github-delivery" },
    ]);
  });

  it("the JSON spec, the TypeScript specs and the README's spec are valid", () => {
    const json: unknown = parse(example(".pi/resources/acme-widgets-42.resource.json"));
    const [, readme = ""] = /```jsonc\n([\s\S]*?)```/.exec(example("README.md")) ?? [];
    const fromReadme: unknown = parse(readme, [], { allowTrailingComma: true });
    for (const manifest of [json, fromReadme, ...dependencies]) {
      const { spec, resourceManager } = manifestSchema.parse({ ...(manifest as object) });
      expect(resourceManager).toBe("pull-request");
      expect(pullRequestSpec.safeParse(spec).error).toBeUndefined();
    }
  });

  it("the README names every reason and every setting", () => {
    const readme = example("README.md");
    const source = (file: string) => example(`.pi/resource-managers/pull-request/${file}`);
    const [, union = ""] = /export type Reason =([\s\S]*?);/.exec(source("decide.ts")) ?? [];
    const reasons = [...union.matchAll(/"(\w+)"/g)].map(([, reason]) => reason);
    const settings = source("settings.ts").match(/PULL_REQUEST_\w+_MS/g) ?? [];
    expect(reasons.length).toBeGreaterThan(20);
    for (const word of [...reasons, ...settings]) expect(readme).toContain(`\`${word}\``);
  });
});
