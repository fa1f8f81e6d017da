// @ts-check
/**
 * A server that dies by SIGKILL, or whose runners do, at a point of the store's own choosing:
 *
 *     node crash-server.mjs VICTIM POINT…
 *
 * VICTIM is `server` or `runner`. The POINTs are the store's probe points, each with the number of
 * its visits that are let pass (`store.stage.written*2`); they are waited for one after another, and
 * at the last one the victim is killed, once, before anything else happens in this process.
 */
import { readdirSync } from "node:fs";
import path from "node:path";
import { createServer } from "../../dist/server/index.js";

const [victim, ...points] = process.argv.slice(2);
const steps = points.map((point) => {
  const [name, visits = "0"] = point.split("*");
  return { name, left: Number(visits) };
});

/** @param {string} name */
function probe(name) {
  const [step] = steps;
  if (step?.name !== name) return;
  if (step.left > 0) {
    step.left -= 1;
    return;
  }
  steps.shift();
  if (steps.length === 0) kill();
}

function kill() {
  if (victim === "server") process.kill(process.pid, "SIGKILL");
  const runners = path.join(process.env.PI_WORKFLOWS_HOME ?? "", "runners");
  for (const file of readdirSync(runners)) process.kill(Number.parseInt(file, 10), "SIGKILL");
}

const server = createServer({ echo: true, probe });
process.on("SIGTERM", () => void server.stop());
await server.start();
await server.stopped();
process.exit(0);
