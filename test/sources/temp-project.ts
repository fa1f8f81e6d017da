import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";

/** A project in a temporary folder, removed when the test ends. */
export type TempProject = {
  root: string;
  /** Writes a file, by its path from the project's root, and returns its absolute path. */
  write(file: string, content: string | Uint8Array): string;
  path(file: string): string;
};

export function tempProject(files: Record<string, string | Uint8Array> = {}): TempProject {
  const root = realpathSync(mkdtempSync(path.join(tmpdir(), "pi-workflows-test-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const project: TempProject = {
    root,
    path: (file) => path.join(root, file),
    write(file, content) {
      const target = path.join(root, file);
      mkdirSync(path.dirname(target), { recursive: true });
      writeFileSync(target, content);
      return target;
    },
  };
  for (const [file, content] of Object.entries(files)) project.write(file, content);
  return project;
}

/** A small definition: `note`, whose spec has a title, an optional level, and a secret. */
export const NOTE_DEFINITION = `
import { z } from "zod";
import { defineResourceManager } from "@osolmaz/pi-workflows/resource-managers";

export default defineResourceManager({
  name: "note",
  spec: z.strictObject({
    title: z.string().min(1).max(40),
    level: z.enum(["low", "high"]).default("low"),
    count: z.number().int().optional(),
    token: z.string().meta({ secret: true }).optional(),
  }),
  initialStatus: (spec) => ({ phase: "new", title: spec.title }),
  async reconcile(ctx) {
    return ctx.settled();
  },
});
`;

export const NOTE_FILE = ".pi/resource-managers/note.resource-manager.ts";
