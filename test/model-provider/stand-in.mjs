// @ts-check
/**
 * A model provider for tests and the demo, on loopback: OpenAI's streamed chat completions, whose
 * answers a script gives. Requests and answers are judged by the published description.
 */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { judge } from "./schema.mjs";

/**
 * One answer of the model. `text` and `calls` are streamed in pieces, as providers do.
 * @typedef {{ text?: string, calls?: { name: string, arguments: unknown }[] }} Speech
 *
 * What the provider does with a request; `after` holds it back until something has happened.
 * @typedef {{ after?: Promise<unknown> } & (
 *   | Speech
 *   | { status: number, message: string }
 *   | { cut: string }
 *   | { stall: string }
 *   | { raw: string }
 * )} Answer `cut`: the connection breaks after this text. `stall`: nothing more comes after it; with
 *   an empty text nothing comes at all. `raw`: these bytes instead of a stream.
 *
 * @typedef {{ role: string, content?: unknown, tool_calls?: { function: { name: string, arguments: string } }[] }} Message
 * @typedef {{ model: string, messages: Message[], tools?: { function: { name: string, parameters?: any } }[] }} ChatRequest
 * @typedef {(request: ChatRequest) => Answer} Rule
 *
 * @typedef {object} ModelProvider
 * @property {string} url for `baseUrl` of Pi's models.json
 * @property {{ key: string | undefined, body: ChatRequest }[]} requests all that were made, in order
 * @property {string[]} problems what was against the description, on either side
 * @property {(...answers: Answer[]) => void} queue answers of the next requests; the rule afterwards
 * @property {(rule: Rule) => void} answerBy sets the rule
 * @property {(count: number) => Promise<void>} untilRequests resolves at the request of that number
 * @property {() => Promise<void>} close
 */

/** The content of a message as text. @param {Message | undefined} message @returns {string} */
export function textOf(message) {
  const content = message?.content;
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/**
 * The rule where a test gives none: after the result of a tool it repeats that, to
 * `call:TOOL {…arguments}` it calls the tool, and everything else it repeats.
 * @type {Rule}
 */
export function obedient({ messages }) {
  const last = messages.at(-1);
  if (last?.role === "tool") return { text: `The tool said: ${textOf(last)}` };
  const call = /call:(\S+)\s*(\{.*\})?/s.exec(textOf(last));
  if (!call) return { text: `You said: ${textOf(last)}` };
  return {
    calls: [{ name: /** @type {string} */ (call[1]), arguments: JSON.parse(call[2] ?? "{}") }],
  };
}

/** @param {{ rule?: Rule, port?: number }} [options] @returns {Promise<ModelProvider>} */
export async function startModelProvider({ rule = obedient, port = 0 } = {}) {
  /** @type {ModelProvider["requests"]} */
  const requests = [];
  /** @type {string[]} */
  const problems = [];
  /** @type {Answer[]} */
  const queued = [];
  /** @type {Set<() => void>} */
  const waiting = new Set();
  let number = 0;

  const server = createServer((request, response) => {
    void handle(request, response).catch((error) => {
      problems.push(String(error));
      response.destroy();
    });
  });

  /** @param {import("node:http").IncomingMessage} request @param {import("node:http").ServerResponse} response */
  async function handle(request, response) {
    if (request.method === "GET" && request.url === "/v1/models") return sendModels(response);
    if (request.method !== "POST" || request.url !== "/v1/chat/completions") {
      return sendFailure(response, 404, `no ${request.method} ${request.url}`);
    }
    let raw = "";
    for await (const piece of request.setEncoding("utf8")) raw += piece;
    /** @type {ChatRequest & { stream?: boolean }} */
    const body = JSON.parse(raw);
    const problem = judge("ChatRequest", body) ?? (body.stream ? undefined : "not streamed");
    if (problem) {
      problems.push(problem);
      return sendFailure(response, 400, problem);
    }
    requests.push({ key: request.headers.authorization, body });
    number += 1;
    const answer = queued.shift() ?? rule(body);
    for (const look of waiting) look();
    await answer.after;
    await send(response, answer, { id: `chatcmpl-${number}`, model: body.model });
  }

  /**
   * @param {import("node:http").ServerResponse} response @param {Answer} answer
   * @param {{ id: string, model: string }} of
   */
  async function send(response, answer, of) {
    if ("status" in answer) return sendFailure(response, answer.status, answer.message);
    if ("stall" in answer && answer.stall === "") return;
    response.writeHead(200, { "content-type": "text/event-stream" });
    if ("raw" in answer) return void response.end(answer.raw);
    const speech = "cut" in answer || "stall" in answer ? { text: partOf(answer) } : answer;
    const isWhole = speech === answer;
    for (const part of chunksOf(speech, isWhole)) {
      const chunk = { ...of, object: "chat.completion.chunk", created: 1, ...part };
      const problem = judge("ChatChunk", chunk);
      if (problem) problems.push(problem);
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    if (isWhole) response.end("data: [DONE]\n\n");
    // What was written goes out first: a test may wait for the text before the break.
    else if ("cut" in answer) response.write("", () => response.destroy());
  }

  /** @param {import("node:http").ServerResponse} response @param {number} status @param {string} message */
  function sendFailure(response, status, message) {
    const body = { error: { message, type: "server_error", param: null, code: null } };
    sendJson(response, status, "Failure", body);
  }

  /** @param {import("node:http").ServerResponse} response */
  function sendModels(response) {
    const model = { id: "stand-in", object: "model", created: 1, owned_by: "tests" };
    sendJson(response, 200, "ModelList", { object: "list", data: [model] });
  }

  /**
   * @param {import("node:http").ServerResponse} response @param {number} status
   * @param {import("./schema.mjs").Shape} shape @param {unknown} body
   */
  function sendJson(response, status, shape, body) {
    const problem = judge(shape, body);
    if (problem) problems.push(problem);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  }

  await new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(undefined)));
  const address = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${address.port}/v1`,
    requests,
    problems,
    queue: (...answers) => void queued.push(...answers),
    answerBy: (next) => void (rule = next),
    untilRequests: (count) =>
      new Promise((resolve) => {
        const look = () => {
          if (requests.length < count) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** @param {{ cut: string } | { stall: string }} answer */
const partOf = (answer) => ("cut" in answer ? answer.cut : answer.stall);

/**
 * The pieces of one answer; of a broken one, those before the break.
 * @param {Speech} speech @param {boolean} isWhole
 */
function chunksOf({ text = "", calls = [] }, isWhole) {
  const deltas = [
    { role: "assistant", content: "" },
    ...piecesOf(text).map((content) => ({ content })),
    ...calls.flatMap(deltasOfCall),
  ];
  const choices = deltas.map((delta) => choice(delta, null));
  if (!isWhole) return choices;
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const end = choice({}, calls.length > 0 ? "tool_calls" : "stop");
  return [...choices, end, { choices: [], usage }];
}

/** At most a hundred pieces, and words at least. @param {string} text @returns {string[]} */
function piecesOf(text) {
  const length = Math.max(12, Math.ceil(text.length / 100));
  return text.match(new RegExp(`.{1,${length}}`, "gsu")) ?? [];
}

/** @param {object} delta @param {"stop" | "tool_calls" | null} finish */
function choice(delta, finish) {
  return { choices: [{ index: 0, delta, finish_reason: finish }] };
}

/** A call comes in two pieces at least. @param {{ name: string, arguments: unknown }} call @param {number} index */
function deltasOfCall({ name, arguments: given }, index) {
  const text = JSON.stringify(given);
  const half = Math.ceil(text.length / 2);
  const first = { name, arguments: text.slice(0, half) };
  return [
    { tool_calls: [{ index, id: `call_${randomUUID()}`, type: "function", function: first }] },
    { tool_calls: [{ index, function: { arguments: text.slice(half) } }] },
  ];
}
