// Fails where a package that is shipped has a known fault of high or critical severity. Where the
// registry gives no answer nothing is known, which is said and fails nothing: a check that depends on
// a stranger's machine must not keep people from their work.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const { stdout } = spawnSync("npm", ["audit", "--omit=dev", "--json"], {
  cwd: fileURLToPath(new URL("..", import.meta.url)),
  encoding: "utf8",
  timeout: 60_000,
  maxBuffer: 1 << 26,
});
const report = parsed(stdout);
if (report?.vulnerabilities === undefined) {
  console.log("not known: the registry gave no answer");
  process.exit(0);
}
const grave = Object.values(report.vulnerabilities).filter(({ severity }) =>
  ["high", "critical"].includes(severity),
);
for (const { name, severity, range } of grave) console.log(`${severity}: ${name} ${range}`);
process.exit(grave.length === 0 ? 0 : 1);

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
