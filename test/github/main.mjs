// @ts-check
/** Starts a stand-in with one pull request, prints where it is as JSON, and runs until ended. */
import { startGitHub } from "./stand-in.mjs";

const github = await startGitHub();
const repository = await github.seeds.repository({ name: "widgets" });
const pull = await github.seeds.pull(repository);
process.stdout.write(`${JSON.stringify({ url: github.url, ...pull })}\n`);
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => void github.close());
