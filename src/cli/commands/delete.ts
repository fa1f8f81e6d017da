import { existsSync } from "node:fs";
import path from "node:path";
import { describeRef, type StoredResource } from "../../model/resource.ts";
import { printable } from "../../model/text.ts";
import type { DeleteReceipt } from "../../store/store.ts";
import { confirm } from "../confirm.ts";
import { findResource } from "../find.ts";
import type { Cli } from "../invocation.ts";
import { personOrigin } from "../person.ts";
import { CHILD_RUNS } from "../present.ts";
import type { Documents } from "../schemas/documents.ts";
import { DEFAULT_WAIT_MS, waitOn } from "../waiting.ts";
import type { Action } from "../verb.ts";

type Options = { yes?: boolean; forceFinalizers?: boolean; wait?: boolean; timeout?: number };

export const run: Action<Options> = async (cli, options, ...args) => {
  const [manager, key] = args as [string, string];
  const ref = { project: cli.project, resourceManager: manager, key };
  const stored = await findResource(await cli.reader(), ref);
  const name = printable(describeRef(ref));
  const force = options.forceFinalizers === true;
  const how = force ? `deleting ${name} without cleaning up` : `deleting ${name}`;
  await confirm(cli, how, options.yes === true);
  const client = await cli.client();
  const receipt = await client.delete(ref, { origin: personOrigin(cli.command), force });
  adviseAboutFile(cli, stored);
  if (options.wait && !receipt.removed) {
    await waitOn(cli, client, {
      targets: [{ resourceManager: manager, key, uid: receipt.uid }],
      goal: "deleted",
      timeoutMs: options.timeout ?? DEFAULT_WAIT_MS,
    });
    receipt.removed = true;
    // Its manager may have cleaned up without them.
    const left = await client.effects({ uid: receipt.uid, open: true });
    receipt.unsettledEffects = left.map(
      ({ project: _project, resourceManager: _manager, resourceKey: _key, ...effect }) => effect,
    );
  }
  cli.output.result(receipt satisfies Documents["delete"], () => describe(name, receipt, force));
};

function adviseAboutFile(cli: Cli, { origin }: StoredResource): void {
  if (origin.file === undefined || !existsSync(path.resolve(cli.project, origin.file))) return;
  cli.output.note(
    printable(
      `${origin.file} still stands; where it declares this resource, applying it makes it anew`,
    ),
  );
}

/** What must be done before it is gone. */
function firstOf(finalizers: readonly string[]): string {
  const own = finalizers.filter((finalizer) => finalizer !== CHILD_RUNS);
  return [
    ...(own.length < finalizers.length ? ["its child runs are cancelled, and must end first"] : []),
    ...(own.length > 0 ? [`its manager must first remove ${printable(own.join(", "))}`] : []),
  ].join("; ");
}

function describe(name: string, receipt: DeleteReceipt, force: boolean): string {
  const state = receipt.removed
    ? `${name} is gone`
    : `${name} is being deleted; ${firstOf(receipt.finalizers)}`;
  const dropped =
    force && receipt.finalizers.length > 0
      ? [`clean-up that was skipped: ${printable(receipt.finalizers.join(", "))}`]
      : [];
  const leaked = receipt.unsettledEffects.map((effect) =>
    printable(`may be left behind: effect ${effect.key} (${effect.kind}), ${effect.state}`),
  );
  return [state, ...dropped, ...leaked].join("\n");
}
