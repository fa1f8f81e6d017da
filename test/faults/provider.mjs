// @ts-check
/**
 * A provider of things, in a process of its own, with a log on disk that says what was done:
 *
 *     node provider.mjs LOG
 *
 * `POST /things/ID` makes a thing, every time anew; `GET /things/ID` says whether there is one. It is
 * slow before and after the making, so that kills fall on both sides of it. Whoever looks is answered
 * after all that was asked for before: what this provider shows is true at once. The log has one line
 * for each making, whether or not anybody still waits for the answer. Its port is sent to its parent.
 */
import { appendFileSync } from "node:fs";
import { createServer } from "node:http";

const [log = ""] = process.argv.slice(2);
const MOST_MS = 40;

/** @type {Map<string, Promise<void>>} */
const making = new Map();
/** @type {Set<string>} */
const made = new Set();

const pause = () => new Promise((done) => void setTimeout(done, Math.random() * MOST_MS));

/** @param {string} id */
async function make(id) {
  await pause();
  appendFileSync(log, `${id}\n`);
  made.add(id);
}

/**
 * @param {import("node:http").IncomingMessage} request
 * @param {import("node:http").ServerResponse} response
 */
async function answer(request, response) {
  const id = decodeURIComponent((request.url ?? "").replace("/things/", ""));
  if (request.method === "POST") {
    const done = (making.get(id) ?? Promise.resolve()).then(() => make(id));
    making.set(id, done);
    await done;
    await pause();
    response.end("made");
    return;
  }
  await making.get(id);
  response.statusCode = made.has(id) ? 200 : 404;
  response.end();
}

const server = createServer((request, response) => void answer(request, response));
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => {
  process.send?.(/** @type {import("node:net").AddressInfo} */ (server.address()).port);
});
// Nothing of a test outlives it.
process.on("disconnect", () => process.exit(0));
