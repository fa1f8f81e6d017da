import { copyFileSync, constants, existsSync, mkdirSync } from "node:fs";
import path from "node:path";
import { PiWorkflowsError } from "../../model/errors.ts";
import { installationUrl } from "../../model/installation.ts";
import type { Action } from "../verb.ts";

/** The installed example that `init` copies; a test applies it. */
const EXAMPLE = "examples/greeting";
const FILES = [
  {
    file: ".pi/resource-managers/greeting.resource-manager.ts",
    about: "keeps a text file as its spec says",
  },
  { file: ".pi/resources/hello.resource.json", about: "one resource, as JSON" },
  { file: ".pi/resources/people.resource.ts", about: "two more, as TypeScript" },
];

const NEXT_STEPS = [
  { command: "pi-workflows diff -f .pi/resources", does: "what would change; changes nothing" },
  {
    command: "pi-workflows apply -f .pi/resources --wait",
    does: "make it so, and wait until it is",
  },
  { command: "pi-workflows get", does: "what there is, and whether it is ready" },
  { command: "pi-workflows why greeting hello", does: "how it came to be" },
  { command: "pi-workflows delete greeting hello --wait", does: "remove it, and its file" },
];

export const run: Action<object> = (cli) => {
  const { output, project } = cli;
  const present = FILES.filter(({ file }) => existsSync(path.join(project, file)));
  if (present.length > 0) {
    const names = present.map(({ file }) => file).join(", ");
    throw new PiWorkflowsError("USAGE", `there already is ${names}; nothing was written`, {
      hint: "Run init in another folder.",
    });
  }
  for (const { file } of FILES) {
    const target = path.join(project, file);
    mkdirSync(path.dirname(target), { recursive: true });
    copyFileSync(installationUrl(`${EXAMPLE}/${file}`), target, constants.COPYFILE_EXCL);
  }
  if (project !== process.cwd()) {
    output.note(`This folder belongs to the project ${project}, so that is where the files are.`);
  }
  const { green, dim } = output.colors;
  for (const line of aligned(FILES.map(({ file, about }) => [file, about]))) {
    output.line(`${green("created")}  ${line[0]}${dim(line[1])}`);
  }
  output.line("\nNext:");
  for (const line of aligned(NEXT_STEPS.map(({ command, does }) => [command, does]))) {
    output.line(`  ${line[0]}${dim(line[1])}`);
  }
  return Promise.resolve();
};

function aligned(rows: [string, string][]): [string, string][] {
  const width = Math.max(...rows.map(([first]) => first.length)) + 2;
  return rows.map(([first, second]) => [first.padEnd(width), second]);
}
