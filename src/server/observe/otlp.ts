import { toPiWorkflowsError } from "../../model/errors.ts";
import { VERSION } from "../../model/installation.ts";
import type { Clock, Log } from "../../model/ports.ts";

/** A span that has ended. Times are epoch milliseconds, ids hexadecimal. */
export type OtlpSpan = {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  startedAt: number;
  endedAt: number;
  attributes: Record<string, string | number>;
  /** Present where it failed: why. */
  error?: string;
};

/** Takes spans and sends them, in the background. */
export type Exporter = {
  /** Never waits; drops the span where too many wait already. */
  add(span: OtlpSpan): void;
  /** Sends what waits, for a moment. */
  close(): Promise<void>;
};

/** Where spans go. `service` is what they are said to be of. */
export type Target = { url: string; headers: Record<string, string>; service: string };

/** Spans that wait for a collector that does not take them; further ones are dropped. */
const MOST_WAITING = 2_048;
const BATCH = 512;
const EVERY_MS = 2_000;
/** A collector that does not answer by then counts as down. */
const ANSWER_MS = 5_000;
const CLOSE_MS = 1_000;
/** One that is down is left alone for this long, so that it is not asked for each batch. */
const PAUSE_MS = 30_000;

/**
 * Sends spans by OTLP over HTTP with JSON (opentelemetry.io, "OTLP Specification"). A collector that is
 * down, slow or refuses costs spans and nothing else: that is logged once until it takes some again.
 */
export function createExporter(target: Target, ports: { clock: Clock; log: Log }): Exporter {
  return new BatchExporter(target, ports);
}

class BatchExporter implements Exporter {
  readonly #target: Target;
  readonly #clock: Clock;
  readonly #log: Log;
  #waiting: OtlpSpan[] = [];
  #cancel: (() => void) | undefined;
  #sending: Promise<void> | undefined;
  #isDown = false;
  #isClosed = false;

  constructor(target: Target, { clock, log }: { clock: Clock; log: Log }) {
    this.#target = target;
    this.#clock = clock;
    this.#log = log;
  }

  add(span: OtlpSpan): void {
    if (this.#waiting.length >= MOST_WAITING || this.#isClosed) return;
    this.#waiting.push(span);
    this.#arm();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    let stop = (): void => {};
    const late = new Promise<void>((resolve) => (stop = this.#clock.schedule(resolve, CLOSE_MS)));
    await Promise.race([this.#sendAll(), late]);
    stop();
    this.#waiting = [];
  }

  async #sendAll(): Promise<void> {
    await this.#sending;
    while (this.#waiting.length > 0 && !this.#isDown) await this.#send(CLOSE_MS);
  }

  #arm(): void {
    if (this.#cancel || this.#sending || this.#isClosed || this.#waiting.length === 0) return;
    this.#cancel = this.#clock.schedule(() => this.#flush(), this.#isDown ? PAUSE_MS : EVERY_MS);
  }

  #flush(): void {
    this.#cancel = undefined;
    this.#sending = this.#send(ANSWER_MS).finally(() => {
      this.#sending = undefined;
      this.#arm();
    });
  }

  async #send(timeoutMs: number): Promise<void> {
    const { url, headers, service } = this.#target;
    const batch = this.#waiting.splice(0, BATCH);
    try {
      const response = await fetch(url, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(request(service, batch)),
        signal: AbortSignal.timeout(timeoutMs),
        redirect: "error",
      });
      await response.body?.cancel();
      if (!response.ok) return this.#fail(`HTTP ${response.status}`);
      this.#isDown = false;
    } catch (thrown) {
      this.#fail(toPiWorkflowsError(thrown).message);
    }
  }

  #fail(reason: string): void {
    const url = originOf(this.#target.url);
    if (!this.#isDown) this.#log.warn("Spans are not taken by their collector", { url, reason });
    this.#isDown = true;
  }
}

/** ExportTraceServiceRequest, as JSON has it: ids are hexadecimal, times are strings of nanoseconds. */
function request(service: string, spans: readonly OtlpSpan[]): object {
  const resource = { "service.name": service, "service.version": VERSION };
  return {
    resourceSpans: [
      {
        resource: { attributes: attributes(resource) },
        scopeSpans: [
          { scope: { name: "pi-workflows", version: VERSION }, spans: spans.map(spanJson) },
        ],
      },
    ],
  };
}

const INTERNAL_KIND = 1;
const STATUS_ERROR = 2;

function spanJson(span: OtlpSpan): object {
  const { traceId, spanId, parentSpanId, name, error } = span;
  return {
    traceId,
    spanId,
    ...(parentSpanId === undefined ? {} : { parentSpanId }),
    name,
    kind: INTERNAL_KIND,
    startTimeUnixNano: nanoseconds(span.startedAt),
    endTimeUnixNano: nanoseconds(span.endedAt),
    attributes: attributes(span.attributes),
    status: error === undefined ? {} : { code: STATUS_ERROR, message: error },
  };
}

function attributes(values: Record<string, string | number>): object[] {
  return Object.entries(values).map(([key, value]) => ({
    key,
    value:
      typeof value === "number" ? { intValue: String(Math.round(value)) } : { stringValue: value },
  }));
}

function nanoseconds(ms: number): string {
  return `${Math.round(ms)}000000`;
}

/** Without what a URL may hold that is secret. */
function originOf(url: string): string {
  return new URL(url).origin;
}
