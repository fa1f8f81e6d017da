// `npm run check`: types, lint, format, dead code, drift of generated files, licences, known faults. Prints every failure.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const CHECKS = [
  ["types", "node_modules/.bin/tsc", ["-p", "."]],
  ["lint", "node_modules/.bin/oxlint", ["--type-aware"]],
  ["format", "node_modules/.bin/oxfmt", ["--check"]],
  ["dead code", "node_modules/.bin/knip", []],
  ["invariants", process.execPath, ["scripts/invariants.mjs", "--check"]],
  ["generated files", process.execPath, ["scripts/generate.mjs", "--check"]],
  ["licences", process.execPath, ["scripts/licences.mjs"]],
  ["known faults of packages", process.execPath, ["scripts/audit.mjs"]],
];

const SAYING = ["licences", "known faults of packages"];

const failed = CHECKS.filter(([title, command, args]) => {
  const { status, stdout, stderr } = spawnSync(command, args, {
    encoding: "utf8",
    maxBuffer: 1 << 28,
  });
  // What is not known is no failure, and must not look like a success either.
  const said = SAYING.includes(title) && status === 0 ? `: ${stdout.trim()}` : "";
  console.log(`${status === 0 ? "ok  " : "FAIL"} ${title}${said}`);
  if (status !== 0) console.log(`${stdout}${stderr}`);
  return status !== 0;
});
process.exit(failed.length === 0 ? 0 : 1);
