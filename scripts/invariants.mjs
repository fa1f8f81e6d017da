// `npm run invariants`: lists each invariant of docs/invariants.md with the tests that name it.
// With --check it fails when an invariant that docs/invariants.md marks as due has none.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const invariants = [
  ...readFileSync("docs/invariants.md", "utf8").matchAll(/^- ([A-Z]-\d+) .*$/gm),
].map((match) => ({ id: match[1], text: match[0], later: match[0].includes("(later)") }));
const titles = readdirSync("test", { recursive: true, encoding: "utf8" })
  .filter((file) => /\.(ts|mjs)$/.test(file))
  .flatMap((file) =>
    [
      ...readFileSync(path.join("test", file), "utf8").matchAll(
        /\b(?:it|describe|test)\w*(?:\.\w+)*\(\s*(["'`])(.+?)\1/g,
      ),
    ].map((match) => ({ file, title: match[2] })),
  );

let missing = 0;
for (const { id, later } of invariants) {
  const proofs = titles.filter(({ title }) => new RegExp(`\\b${id}\\b`).test(title));
  if (proofs.length === 0 && !later) missing += 1;
  console.log(
    `${id.padEnd(5)} ${proofs.length === 0 ? (later ? "–  later" : "–  NO TEST") : `${proofs.length} ${proofs[0].file}: ${proofs[0].title}`}`,
  );
}
console.log(`\n${invariants.length} invariants, ${missing} due without a test`);
process.exit(process.argv.includes("--check") && missing > 0 ? 1 : 0);
