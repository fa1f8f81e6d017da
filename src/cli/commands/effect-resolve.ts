import { PiWorkflowsError } from "../../model/errors.ts";
import { describeRef, type ResourceRef } from "../../model/resource.ts";
import { printable } from "../../model/text.ts";
import type { StoreReader } from "../../store/store.ts";
import { findResource } from "../find.ts";
import type { Action } from "../verb.ts";

type Options = { applied?: boolean; notApplied?: boolean; ref?: string; reason?: string };

export const run: Action<Options> = async (cli, options, ...args) => {
  const [manager, key, effectKey] = args as [string, string, string];
  const outcome = outcomeOf(options);
  const ref = { project: cli.project, resourceManager: manager, key };
  const reader = await cli.reader();
  const uid = await uidOf(reader, ref, effectKey);
  requireEffect(await reader.effects({ uid }), effectKey, describeRef(ref));
  const client = await cli.client();
  const effect = await client.resolveEffect(uid, effectKey, outcome);
  cli.output.result({ effect }, () =>
    printable(`${describeRef(ref)}: effect ${effect.key} is ${effect.state}; a pass will follow`),
  );
};

/** The ledger keeps the effects of a deleted resource, so that they can still be settled (D-7). */
async function uidOf(reader: StoreReader, ref: ResourceRef, effectKey: string): Promise<string> {
  const stored = await reader.get(ref);
  const open = stored ? [] : await reader.effects({ project: ref.project, open: true });
  const left = open.find(
    (effect) =>
      effect.resourceManager === ref.resourceManager &&
      effect.resourceKey === ref.key &&
      effect.key === effectKey,
  );
  return left?.resourceUid ?? (await findResource(reader, ref)).resource.metadata.uid;
}

function outcomeOf(
  options: Options,
): { state: "applied"; externalRef?: string } | { state: "rejected"; reason: string } {
  if (options.applied === options.notApplied) {
    throw new PiWorkflowsError("USAGE", "say --applied or --not-applied", {
      hint: "Look at the outside world first: this is recorded as the truth.",
    });
  }
  if (options.applied) {
    if (options.reason !== undefined) throw misplaced("--reason", "--not-applied");
    return options.ref === undefined
      ? { state: "applied" }
      : { state: "applied", externalRef: options.ref };
  }
  if (options.ref !== undefined) throw misplaced("--ref", "--applied");
  if (options.reason === undefined) {
    throw new PiWorkflowsError("USAGE", "--not-applied needs --reason", {
      hint: 'Say why in a few words: --reason "closed by hand".',
    });
  }
  return { state: "rejected", reason: options.reason };
}

function misplaced(flag: string, partner: string): PiWorkflowsError {
  return new PiWorkflowsError("USAGE", `${flag} goes with ${partner}`);
}

function requireEffect(
  effects: { key: string; state: string }[],
  key: string,
  resource: string,
): void {
  if (effects.some((effect) => effect.key === key)) return;
  const open = effects
    .filter(({ state }) => state === "pending" || state === "indeterminate")
    .map((effect) => printable(effect.key));
  throw new PiWorkflowsError("NOT_FOUND", printable(`${resource} has no effect ${key}`), {
    hint: open.length === 0 ? "It has no open effect." : `Its open effects: ${open.join(", ")}.`,
  });
}
