// The reference of P8: reads, parses and hashes every JSON file of a folder in a bare loop.
import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

const [folder = "."] = process.argv.slice(2);
let count = 0;
for (const name of readdirSync(folder)) {
  const value: unknown = JSON.parse(readFileSync(path.join(folder, name), "utf8"));
  if (hash("sha256", JSON.stringify(value)) !== "") count += 1;
}
console.log(count);
