import { type Agent, request } from "node:http";
import { expect } from "vitest";
import { ERRORS } from "../../../src/model/errors.ts";

/** An answer to a request. */
export type Answer = { status: number; text: string };

/** A secret that nothing may tell. */
export const TOKEN = "ghp_fuzzfuzzfuzzfuzzfuzzfuzz0123";

/** Sends one request to the server's socket. */
export function ask(
  { socket, agent }: { socket: string; agent: Agent },
  { method, path, body }: { method: string; path: string; body?: string },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = body === undefined ? {} : { "content-type": "application/json" };
    const outgoing = request({ socketPath: socket, agent, method, path, headers }, (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => (text += String(chunk)));
      response.on("end", () => resolve({ status: response.statusCode ?? 0, text }));
    });
    outgoing.on("error", reject).end(body);
  });
}

/** The parameters as a query, whatever they are. */
export function queryOf(params: unknown): string {
  if (typeof params !== "object" || params === null) return "?x";
  const pairs = Object.entries(params).map(([name, value]) => [
    name,
    typeof value === "object" ? JSON.stringify(value) : String(value),
  ]);
  const text = pairs.map((pair) => pair.map((part) => escape(part)).join("=")).join("&");
  return `?${text}`;
}

// Lone surrogates can't be written as UTF-8.
function escape(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, "?").slice(0, 2_000));
}

/** A refusal has a code of the table and says what to do; nothing is a fault of the server's own. */
export function judge({ status, text }: Answer, asked: unknown): void {
  const isPlain = status === 200 || status === 204;
  const error = isPlain ? undefined : (JSON.parse(text) as { error?: Refusal }).error;
  const isKnown = isPlain || (error !== undefined && error.code in ERRORS && error.hint !== "");
  if (!isKnown || status === 500 || error?.code === "INTERNAL" || text.includes(TOKEN)) {
    expect.unreachable(`${status} ${text} to ${JSON.stringify(asked)}`);
  }
}
type Refusal = { code: string; hint: string };
