import { createHash, randomBytes } from "node:crypto";
import type { Clock, Log } from "../../model/ports.ts";
import { redactText } from "../../model/redact.ts";
import { truncate } from "../../model/limits.ts";
import type { Config } from "../config.ts";
import type { Observer, SeenClaim, SeenEffect, SeenNode, SeenPass, SeenSync } from "./observer.ts";
import { createExporter, type Exporter, type OtlpSpan, type Target } from "./otlp.ts";

/**
 * Spans of passes, effects, nodes and syncs, sent to where the user says (OpenTelemetry's variables, or
 * `otlp` of config.json). Undefined where nothing is said: then nothing is made, and nothing is sent.
 *
 * The passes of a run are one trace, named by the run; every other pass and every sync is one of its own.
 */
export function openTraces(options: {
  config: Config;
  env: NodeJS.ProcessEnv;
  clock: Clock;
  log: Log;
}): Traces | undefined {
  const target = targetOf(options.config, options.env);
  return target && new Traces(createExporter(target, options));
}

type SpanIds = { traceId: string; spanId: string };

class Traces implements Observer {
  readonly #exporter: Exporter;
  /** Of the passes under way, by uid. */
  readonly #ids = new Map<string, SpanIds>();

  constructor(exporter: Exporter) {
    this.#exporter = exporter;
  }

  claimed({ uid, isRun }: SeenClaim): void {
    const traceId = isRun ? traceOfRun(uid) : randomId(16);
    this.#ids.set(uid, { traceId, spanId: randomId(8) });
  }

  lost({ uid }: SeenClaim): void {
    this.#ids.delete(uid);
  }

  pass(pass: SeenPass): void {
    const ids = this.#ids.get(pass.uid);
    this.#ids.delete(pass.uid);
    if (!ids) return;
    const isError = pass.outcome === "failed" || pass.outcome === "crashed";
    this.#exporter.add({
      ...ids,
      ...span(`${pass.isRun ? "run" : "reconcile"} ${pass.manager}`, pass),
      attributes: {
        ...about(pass),
        "pi_workflows.reconcile_id": pass.reconcileId,
        "pi_workflows.cause": pass.cause,
        "pi_workflows.attempts": pass.attempts,
        "pi_workflows.queued_ms": pass.queuedMs,
        "pi_workflows.outcome": pass.outcome,
        ...(pass.runState === undefined ? {} : { "pi_workflows.run.state": pass.runState }),
      },
      ...(isError ? { error: said(pass.message) } : {}),
    });
  }

  effect(effect: SeenEffect): void {
    this.#addChild(effect.claim, {
      ...span(`effect ${effect.kind}`, effect),
      attributes: {
        "pi_workflows.effect.key": effect.key,
        "pi_workflows.effect.state": effect.state,
        "pi_workflows.effect.attempts": effect.attempts,
      },
      ...(effect.state === "applied" ? {} : { error: effect.state }),
    });
  }

  node(node: SeenNode): void {
    this.#addChild(node.claim, {
      ...span(`node ${node.node}`, node),
      attributes: {
        "pi_workflows.node": node.node,
        "pi_workflows.node.kind": node.kind,
        "pi_workflows.node.visit": node.visit,
        "pi_workflows.node.attempt": node.attempt,
        "pi_workflows.node.event": node.event,
      },
      ...(node.event === "failed" ? { error: said(node.message) } : {}),
    });
  }

  sync(sync: SeenSync): void {
    const { attempt, project } = sync;
    this.#exporter.add({
      traceId: randomId(16),
      spanId: randomId(8),
      ...span("sync", sync),
      attributes: {
        "pi_workflows.project": project,
        "pi_workflows.revision": attempt.revision.id,
        "pi_workflows.outcome": attempt.outcome,
      },
      ...(attempt.outcome === "failed" ? { error: said(attempt.error) } : {}),
    });
  }

  close(): Promise<void> {
    return this.#exporter.close();
  }

  #addChild(claim: SeenClaim, child: Omit<OtlpSpan, keyof SpanIds>): void {
    const ids = this.#ids.get(claim.uid);
    if (!ids) return;
    this.#exporter.add({
      ...child,
      traceId: ids.traceId,
      spanId: randomId(8),
      parentSpanId: ids.spanId,
      attributes: { ...about(claim), ...child.attributes },
    });
  }
}

/** Where spans go, and the headers with which. */
function targetOf({ otlp }: Config, env: NodeJS.ProcessEnv): Target | undefined {
  const base = env["OTEL_EXPORTER_OTLP_ENDPOINT"] ?? otlp?.endpoint;
  const whole = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"];
  const url = whole ?? (base === undefined ? undefined : `${base.replace(/\/+$/, "")}/v1/traces`);
  if (!url || !URL.canParse(url) || env["OTEL_SDK_DISABLED"] === "true") return undefined;
  return {
    url,
    headers: headersOf(
      env["OTEL_EXPORTER_OTLP_TRACES_HEADERS"] ?? env["OTEL_EXPORTER_OTLP_HEADERS"] ?? "",
    ),
    service: env["OTEL_SERVICE_NAME"] ?? "pi-workflows",
  };
}

/** `name=value,name=value`, values percent-encoded (OpenTelemetry, "Protocol Exporter"). */
function headersOf(text: string): Record<string, string> {
  const pairs = text.split(",").map((pair) => pair.split("="));
  return Object.fromEntries(
    pairs.flatMap(([name = "", ...value]) =>
      name.trim() === "" ? [] : [[name.trim(), decoded(value.join("=").trim())]],
    ),
  );
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function span(name: string, { startedAt, endedAt }: { startedAt: number; endedAt: number }) {
  return { name, startedAt, endedAt: Math.max(startedAt, endedAt) };
}

function about({ project, manager, key, uid }: SeenClaim): Record<string, string> {
  return {
    "pi_workflows.project": project,
    "pi_workflows.resource_manager": manager,
    "pi_workflows.key": key,
    "pi_workflows.uid": uid,
  };
}

function said(message: string | undefined): string {
  return truncate(redactText(message ?? ""), 1024);
}

function traceOfRun(runId: string): string {
  return createHash("sha256").update(runId).digest("hex").slice(0, 32);
}

function randomId(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}
