// Fails where a package that is shipped has a known fault of high or critical severity, and always
// says what it found. Where the registry gives no answer nothing is known, which is said with the
// reason and fails nothing, since a check that depends on a stranger's machine must not keep people
// from their work; `--required` makes that a failure too, for a machine whose registry answers.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const GRAVE = ["high", "critical"];

const { stdout, error } = spawnSync("npm", ["audit", "--omit=dev", "--json"], {
  cwd: fileURLToPath(new URL("..", import.meta.url)),
  encoding: "utf8",
  timeout: 60_000,
  maxBuffer: 1 << 26,
});
const report = parsed(stdout);
if (report?.vulnerabilities === undefined) {
  const reason = error?.message || report?.error?.summary || report?.message || "it said nothing";
  // The rest of a reason may name this machine's registry.
  console.log(`not known: the registry gave no answer (${reason.split(" - ")[0]})`);
  process.exit(process.argv.includes("--required") ? 1 : 0);
}
const found = Object.values(report.vulnerabilities);
const grave = found.filter(({ severity }) => GRAVE.includes(severity));
for (const { name, severity, range } of grave) console.log(`${severity}: ${name} ${range}`);
const { prod = "all" } = report.metadata?.dependencies ?? {};
console.log(
  `${prod} packages looked up: ${grave.length} grave faults, ${found.length - grave.length} lesser`,
);
process.exit(grave.length === 0 ? 0 : 1);

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
