import type { ManagerRecord } from "../model/batch.ts";
import type { Json } from "../model/canonical.ts";
import type { ConditionInput } from "../model/condition.ts";
import type { EventInput } from "../model/event.ts";
import type { PassOutcome } from "../model/pass.ts";
import type { LogFields } from "../model/ports.ts";
import type { ManagedResource } from "../model/resource.ts";
import { maskSecrets, maskSecretsIn } from "../model/secret-text.ts";
import { secretValues } from "../diff/secret-values.ts";
import type { BeginEffect, SettleEffect } from "../store/store.ts";

/** Masks the values that a spec keeps secret in what its pass sends to be kept for people. */
export type SecretMask = {
  secrets: readonly string[];
  text(text: string): string;
  event(event: EventInput): EventInput;
  fields(fields: LogFields | undefined): LogFields | undefined;
  /** The fingerprint and the recorded result stay those of the true values (E-3, E-4). */
  begun(request: BeginEffect): BeginEffect;
  settled(settlement: SettleEffect): SettleEffect;
  outcome(outcome: PassOutcome): PassOutcome;
};

/**
 * The mask of one pass. It looks for the values at the secret paths of the manager's schema in the
 * spec that the pass was given, as they are and as JSON escapes them; values shorter than four
 * characters are not looked for. The manager's own status is left alone: the next pass reads it back,
 * and it is masked where it is shown.
 */
export function secretMaskOf(
  { secretPaths }: Pick<ManagerRecord, "secretPaths">,
  { spec }: Pick<ManagedResource, "spec">,
): SecretMask {
  const secrets = secretValues(spec as Json, secretPaths);
  return secrets.length === 0 ? NOTHING_SECRET : masking(secrets);
}

const NOTHING_SECRET: SecretMask = {
  secrets: [],
  text: (text) => text,
  event: (event) => event,
  fields: (fields) => fields,
  begun: (request) => request,
  settled: (settlement) => settlement,
  outcome: (outcome) => outcome,
};

function masking(secrets: readonly string[]): SecretMask {
  const text = (from: string): string => maskSecrets(from, secrets);
  const deep = (from: Json): Json => maskSecretsIn(from, secrets) as Json;
  return {
    secrets,
    text,
    event: ({ payload, ...event }) => ({
      ...event,
      reason: text(event.reason),
      message: text(event.message),
      ...(payload === undefined ? {} : { payload: deep(payload) }),
    }),
    fields: (fields) => fields && maskFields(fields, secrets),
    begun: (request) => ({ ...request, shown: deep(request.request) }),
    settled: (settlement) => settledAs(settlement, text),
    outcome: (outcome) => outcomeAs(outcome, text),
  };
}

type Text = (text: string) => string;

/** Fields come from authors: what can't be walked is no reason to fail their pass. */
function maskFields(fields: LogFields, secrets: readonly string[]): LogFields {
  try {
    return Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        maskSecrets(name, secrets),
        maskSecretsIn(value instanceof Error ? plain(value) : value, secrets),
      ]),
    );
  } catch {
    return { fieldsLeftOut: "could not be masked" };
  }
}

function plain({ name, message }: Error): object {
  return { name, message };
}

function settledAs(settlement: SettleEffect, text: Text): SettleEffect {
  const { outcome } = settlement;
  if (outcome.state !== "applied") {
    return { ...settlement, outcome: { ...outcome, reason: text(outcome.reason) } };
  }
  const { externalRef } = outcome;
  return externalRef === undefined ? settlement : { ...settlement, shownRef: text(externalRef) };
}

function outcomeAs(outcome: PassOutcome, text: Text): PassOutcome {
  switch (outcome.kind) {
    case "settled":
    case "requeue":
    case "requeueAfter":
      return outcome.conditions === undefined
        ? outcome
        : { ...outcome, conditions: outcome.conditions.map((one) => conditionAs(one, text)) };
    case "failed": {
      const { stack } = outcome;
      const message = text(outcome.message);
      return { ...outcome, message, ...(stack === undefined ? {} : { stack: text(stack) }) };
    }
    case "parked":
    case "crashed":
      return { ...outcome, message: text(outcome.message) };
  }
}

function conditionAs(condition: ConditionInput, text: Text): ConditionInput {
  const { message } = condition;
  const reason = text(condition.reason);
  return { ...condition, reason, ...(message === undefined ? {} : { message: text(message) }) };
}
