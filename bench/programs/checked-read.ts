// As raw-read, but holds each file to its schemas and hashes the canonical form, as a diff must.
import { hash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { canonicalJson } from "../../src/model/canonical.ts";
import { manifestSchema } from "../../src/model/manifest.ts";
import { SPEC_SCHEMA } from "../project.ts";

const [folder = "."] = process.argv.slice(2);
const fits = new Ajv2020({ allErrors: true }).compile(SPEC_SCHEMA);
let count = 0;
for (const name of readdirSync(folder)) {
  const { spec } = manifestSchema.parse(
    JSON.parse(readFileSync(path.join(folder, name), "utf8")) as unknown,
  );
  if (fits(spec) && hash("sha256", canonicalJson(spec)) !== "") count += 1;
}
console.log(count);
