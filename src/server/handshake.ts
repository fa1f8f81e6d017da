import { PiWorkflowsError } from "../model/errors.ts";
import { VERSION } from "../model/installation.ts";
import { HEADERS, PROTOCOL_VERSION, ROUTES, type RouteName } from "./protocol.ts";

/** Who one side of a connection is. */
export type Party = { version: string; protocol: number };

/** What this installation says of itself in every request and response. */
export const OWN_HEADERS: Readonly<Record<string, string>> = {
  [HEADERS.protocol]: String(PROTOCOL_VERSION),
  [HEADERS.version]: VERSION,
};

/** What every version answers, and always will: who it is, and that it stops. */
export const ANY_VERSION: readonly RouteName[] = ["hello", "stop"];

type Headers = Record<string, string | string[] | undefined>;

/** Puts this server's version on a response. */
export function stampVersion(reply: { headers(values: Record<string, string>): unknown }): void {
  reply.headers({ ...OWN_HEADERS });
}

/**
 * The refusal of a client whose protocol is another; clients that name none (`curl`) are let in, and
 * some routes answer everyone, so that the other side can tell what it met, and replace it.
 */
export function refuseOtherVersions(headers: Headers, url: string): PiWorkflowsError | undefined {
  const client = partyOf(headers);
  if (!client || ANY_VERSION.some((route) => url.startsWith(ROUTES[route].path))) return undefined;
  return mismatch(client, { version: VERSION, protocol: PROTOCOL_VERSION });
}

/** Who the headers say the other side is; undefined where they do not say. */
export function partyOf(headers: Headers): Party | undefined {
  const protocol = headers[HEADERS.protocol];
  if (typeof protocol !== "string") return undefined;
  const version = headers[HEADERS.version];
  return { protocol: Number(protocol), version: typeof version === "string" ? version : "unknown" };
}

/** The error that says which side to upgrade; undefined where both speak one protocol. */
export function mismatch(client: Party, server: Party): PiWorkflowsError | undefined {
  if (client.protocol === server.protocol) return undefined;
  const clientIsOlder = !(client.protocol > server.protocol);
  return new PiWorkflowsError(
    "VERSION_MISMATCH",
    `The client is of version ${client.version} (protocol ${client.protocol}), the server of ${server.version} (protocol ${server.protocol})`,
    {
      hint: clientIsOlder
        ? `Upgrade the client to ${server.version}.`
        : "Stop the server with `pi-workflows server stop`; the next command starts the newer one.",
      details: { client, server, upgrade: clientIsOlder ? "client" : "server" },
    },
  );
}
