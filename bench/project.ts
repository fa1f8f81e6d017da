import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { makeWorkspace } from "./workspace.ts";

/** A throw-away project with one definition, and a state folder of its own. */
export type Project = {
  root: string;
  /** `PI_WORKFLOWS_HOME` of its server. */
  home: string;
  specs: string;
  env: NodeJS.ProcessEnv;
};

/** The definition that most benchmarks run: it looks at nothing and is done. */
export const NOOP = `
  maxConcurrent: CONCURRENCY,
  reconcile: (ctx) => ctx.settled({ conditions: [conditionTrue("Ready", "Done")] }),`;

/** A pass with one effect whose provider does nothing; each pass names a new effect. */
export const ONE_EFFECT = `
  maxConcurrent: CONCURRENCY,
  async reconcile(ctx) {
    await ctx.effects.ensure({
      key: ctx.reconcileId,
      kind: "noop",
      request: {},
      observe: async () => ({ state: "absent" }),
      apply: async () => ({ externalRef: "none" }),
    });
    return ctx.settled({ conditions: [conditionTrue("Ready", "Done")] });
  },`;

/** A pass that writes down when it was entered, by the clock that all processes share. */
export const CLOCK = `
  maxConcurrent: 1,
  reconcile(ctx) {
    const enteredAt = Number(process.hrtime.bigint()) / 1e6;
    return ctx.settled({ resourceManagerStatus: { enteredAt } });
  },`;

/** Makes a project whose manager `widget` has this body. */
export function makeProject(body: string, options: { concurrency?: number } = {}): Project {
  const project = layProject();
  addManager(project, "widget", body.replaceAll("CONCURRENCY", String(options.concurrency ?? 2)));
  return project;
}

function layProject(): Project {
  const workspace = makeWorkspace();
  const root = path.join(workspace, "project");
  const home = path.join(workspace, "home");
  const specs = path.join(root, ".pi", "resources");
  mkdirSync(specs, { recursive: true });
  return { root, home, specs, env: { PI_WORKFLOWS_HOME: home } };
}

export function addManager(project: Project, name: string, body: string): void {
  const folder = path.join(project.root, ".pi", "resource-managers");
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    path.join(folder, `${name}.resource-manager.ts`),
    `import { conditionTrue, defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";
void conditionTrue;
export default defineResourceManager<{ name: string; size: number; text: string }, object>({
  name: ${JSON.stringify(name)},
  spec: ${JSON.stringify(SPEC_SCHEMA)},
  initialStatus: () => ({}),${body}
});
`,
  );
}

export const SPEC_SCHEMA = {
  type: "object",
  properties: {
    name: { type: "string" },
    size: { type: "integer", minimum: 0 },
    text: { type: "string", maxLength: 10_000 },
  },
  required: ["name", "size", "text"],
  additionalProperties: false,
};

export const SPEC_BYTES = 1_000;

/** A spec of about 1 KB. */
export function widget(index: number, size = 1): { name: string; size: number; text: string } {
  const name = `widget ${index}`;
  const filler = `The text of ${name}. `.repeat(60);
  return { name, size, text: filler.slice(0, SPEC_BYTES - name.length - 40) };
}

export function widgetKey(index: number): string {
  return `w${String(index).padStart(6, "0")}`;
}

export function writeJsonSpec(project: Project, index: number, size = 1): void {
  writeManifest(project, "widget", index, size);
}

export function writeManifest(
  project: Project,
  resourceManager: string,
  index: number,
  size: number,
): void {
  const key = widgetKey(index);
  const manifest = { resourceManager, key, spec: widget(index, size) };
  const file = path.join(project.specs, `${resourceManager}-${key}.resource.json`);
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
}

export function writeTypeScriptSpec(project: Project, index: number, size = 1): void {
  const { name, text } = widget(index);
  writeFileSync(
    path.join(project.specs, `${widgetKey(index)}.resource.ts`),
    `import { defineResource } from "@osolmaz/pi-workflows/resource-managers";
import manager from "../resource-managers/widget.resource-manager.ts";

export default defineResource(manager, {
  key: ${JSON.stringify(widgetKey(index))},
  spec: {
    name: ${JSON.stringify(name)},
    size: ${size},
    text: ${JSON.stringify(text)},
  },
});
`,
  );
}
