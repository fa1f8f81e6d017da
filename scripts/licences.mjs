// Fails where a package of package-lock.json has a licence that is not on the list below. What is
// shipped to users is held to licences that ask for no more than to be named; tools may also be of
// licences whose duties end at their own files.
import { readFileSync } from "node:fs";

const SHIPPED = [
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BlueOak-1.0.0",
  "CC0-1.0",
  "ISC",
  "MIT",
  "PSF-2.0",
  "Python-2.0",
  "Unlicense",
];
const TOOLS = [...SHIPPED, "CC-BY-4.0", "MPL-2.0"];

/** An SPDX expression, of which no package here nests more than one level. */
function isAllowed(expression, allowed) {
  const plain = expression.replace(/^\(|\)$/g, "");
  return plain
    .split(" OR ")
    .some((choice) => choice.split(" AND ").every((name) => allowed.includes(name.trim())));
}

const { packages } = JSON.parse(
  readFileSync(new URL("../package-lock.json", import.meta.url), "utf8"),
);
const refused = Object.entries(packages)
  .filter(([place, { link }]) => place !== "" && !link)
  .filter(([, { license = "none", dev }]) => !isAllowed(license, dev ? TOOLS : SHIPPED))
  .map(([place, { license = "none", dev }]) => `${place}: ${license}${dev ? " (a tool)" : ""}`);

if (refused.length > 0) {
  console.log(`Licences that are on no list of scripts/licences.mjs:\n${refused.join("\n")}`);
  process.exit(1);
}
console.log(`${Object.keys(packages).length - 1} packages, each of a licence that is on the list`);
