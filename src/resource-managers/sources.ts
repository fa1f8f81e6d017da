import { DURATION_FORM, parseDuration } from "../model/duration.ts";
import type { ManagedResource } from "../model/resource.ts";
import type { SourceOf } from "../model/source.ts";
import { rememberSite } from "./site.ts";

/**
 * What wakes resources of a manager besides their own changes. A source only ever says "look at
 * these keys": it carries no command, and one that is lost costs nothing but time.
 */
export type Source =
  | SourceOf<"every">
  | SourceOf<"cron">
  | (Omit<SourceOf<"files">, "mapped"> & { map?: FilesMap })
  | (Omit<SourceOf<"watch">, "mapped"> & { map?: WatchMap })
  | (SourceOf<"webhook"> & { map: WebhookMap });

/**
 * Keys to look at. One that ends in `*` stands for every key that begins with what is before it;
 * `*` alone for all. Keys without a resource are passed over.
 */
export type Keys = string[] | Promise<string[]>;

/** Says which keys files are about; `paths` are relative to the project. */
export type FilesMap = (paths: string[]) => Keys;

/** A change of a resource that another manager has. */
export type WatchedChange<TSpec = unknown, TStatus = unknown> = {
  resource: ManagedResource<TSpec, TStatus>;
  /** True where it is gone. */
  removed: boolean;
};

/**
 * Says which keys a change of another resource is about. After a change of its spec it is called for
 * the old spec and for the new one, so that what the old one pointed to is woken too; both have the
 * present status.
 */
export type WatchMap = (change: WatchedChange) => Keys;

/** A request to `POST /webhooks/NAME`, as it came. */
export type WebhookRequest = {
  /** Names in lower case; values that came more than once are joined by `, `. */
  headers: Record<string, string>;
  /** The exact text, for the signature. */
  body: string;
  /** The environment of the server, where the secret is. */
  env: Record<string, string | undefined>;
};

/**
 * Verifies the signature, then says which keys the request is about. Throw where it can't be
 * trusted: the sender is answered 401 without a reason.
 */
export type WebhookMap = (request: WebhookRequest) => Keys;

/**
 * Wakes each resource of the manager so long after its last look: `every("30s")`, `every("5m")`,
 * `every("1h")`, `every("1d")`. Up to a tenth sooner, so that many do not wake at once.
 * @throws RangeError when the interval is not a positive number with one of these units.
 */
export function every(interval: string): SourceOf<"every"> {
  const everyMs = parseDuration(interval);
  if (everyMs === undefined) {
    throw new RangeError(`every(${JSON.stringify(interval)}): use ${DURATION_FORM}`);
  }
  return rememberSite({ kind: "every", everyMs });
}

/**
 * Wakes every resource of the manager at times of the calendar: `cron("0 3 * * 1-5",
 * "Europe/Berlin")`. Minute, hour, day, month and day of the week, or `@hourly`, `@daily`,
 * `@weekly`, `@monthly`, `@yearly`. Without `timezone`, in that of the server's machine. Times missed
 * while the machine slept are made up for by one look. At a clock change, a time that does not exist
 * comes when the clock has jumped, and one that exists twice comes the first time only, unless the
 * hour is `*`.
 */
export function cron(expression: string, timezone?: string): SourceOf<"cron"> {
  return rememberSite({
    kind: "cron",
    expression,
    ...(timezone === undefined ? {} : { timezone }),
  });
}

/**
 * Wakes resources when files of the project change: `files("docs/*.md")`, or several globs. All
 * resources of the manager, unless `map` says which. `.git` and `node_modules` are never looked into.
 */
export function files(globs: string | string[], map?: FilesMap): Source {
  return rememberSite({
    kind: "files",
    globs: typeof globs === "string" ? [globs] : globs,
    ...(map === undefined ? {} : { map }),
  });
}

/**
 * Wakes resources when one of `manager` in the same project changes: its spec, its status, its end.
 * The resource with the same key, unless `map` says which.
 */
export function watch(manager: string, map?: WatchMap): Source {
  return rememberSite({ kind: "watch", manager, ...(map === undefined ? {} : { map }) });
}

/**
 * Wakes the resources that `map` finds in a request to `POST /webhooks/NAME`, where the server's
 * `config.json` turns webhooks on. A delivery that was taken before is not mapped again; the header
 * `deliveryHeader` (default `x-github-delivery`) tells deliveries apart.
 */
export function webhook(
  name: string,
  map: WebhookMap,
  { deliveryHeader = "x-github-delivery" }: { deliveryHeader?: string } = {},
): Source {
  return rememberSite({
    kind: "webhook",
    name,
    deliveryHeader: deliveryHeader.toLowerCase(),
    map,
  });
}
