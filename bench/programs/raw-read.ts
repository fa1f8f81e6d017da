// The reference of P8: reads, parses and hashes every JSON file of a folder in a bare loop.
import * as crypto from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

const folder = process.argv[2] ?? ".";
let count = 0;
for (const name of readdirSync(folder)) {
  const value: unknown = JSON.parse(readFileSync(path.join(folder, name), "utf8"));
  if (hash(JSON.stringify(value)) !== "") count += 1;
}
console.log(count);

/** The one-shot hash is several times faster than `createHash`, where Node has it (20.12). */
function hash(text: string): string {
  return crypto.hash("sha256", text);
}
