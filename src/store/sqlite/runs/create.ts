import { canonicalJson, fingerprintText, type Json } from "../../../model/canonical.ts";
import { PiWorkflowsError } from "../../../model/errors.ts";
import { workflowLane, type WorkflowRecord } from "../../../model/graph.ts";
import { byteLength, LIMITS } from "../../../model/limits.ts";
import type { Ids } from "../../../model/ports.ts";
import { hasEnded, type StoredRun } from "../../../model/run.ts";
import { describeRef } from "../../../model/resource.ts";
import type { EnsureRun, StartRun } from "../../runs.ts";
import type { Claim } from "../../store.ts";
import { claimedResource } from "../claimed.ts";
import { isAgain } from "../doubt.ts";
import { enqueue } from "../enqueue.ts";
import { appendEvent, firstEvent } from "../events.ts";
import { addFinalizer, CHILD_RUNS } from "../finalizers.ts";
import { laneRow } from "../managers.ts";
import type { ResourceRow } from "../resource-row.ts";
import { insertBody, normal, resourceByUid } from "../resources.ts";
import type { Transaction } from "../transaction.ts";
import { runByUid, SELECT_RUNS, storedRun, workflowOf, type RunRow } from "./run-row.ts";
import { moveRun } from "./state.ts";
import { acceptedWorkflow } from "./workflows.ts";

/** @throws UNKNOWN_WORKFLOW, RUN_CONFLICT, TOO_LARGE, BAD_REQUEST */
export function startRun(tx: Transaction, ids: Ids, request: StartRun): StoredRun {
  const workflow = acceptedWorkflow(tx, request.project, request.workflow);
  const input = checkedInput(request.input);
  const runId = ids.next();
  const requestKey = request.requestKey === undefined ? runId : checkedKey(request.requestKey);
  const found = newestOfLane(tx, workflow.lane, requestKey);
  if (found) return sameRun(tx, found, { workflow: request.workflow, input });
  const { startedBy, session } = request;
  const asked = {
    requestKey,
    attempt: 1,
    startedBy,
    ...(session === undefined ? {} : { session }),
    // Only one who names the request can have made it before.
    isDoubted: request.requestKey !== undefined && isAgain(tx),
  };
  return storedRun(tx, insertRun(tx, { runId, workflow, input, ...asked }));
}

/** @throws LEASE_LOST, UNKNOWN_WORKFLOW, RUN_CONFLICT, DELETING, TOO_LARGE, BAD_REQUEST */
export function ensureChildRun(
  tx: Transaction,
  ids: Ids,
  { claim, request }: { claim: Claim; request: EnsureRun },
): StoredRun {
  const { uid } = claimedResource(tx, claim);
  const input = checkedInput(request.input);
  const found = newestChild(tx, uid, checkedKey(request.requestKey));
  if (found) {
    const run = sameRun(tx, found, { workflow: request.workflow, input });
    pointTo(tx, uid, found.id);
    return run;
  }
  const parent = resourceByUid(tx, uid) as ResourceRow;
  const names = laneRow(tx, parent.lane);
  const workflow = acceptedWorkflow(tx, names?.project ?? "", request.workflow);
  const resourceManager = names?.manager ?? "";
  // Its finalizer may be there already, so that adding it would not be refused (D-3).
  if (parent.deletion_at !== null) throw beingDeleted(`${resourceManager} ${parent.key}`);
  const id = insertRun(tx, {
    runId: ids.next(),
    workflow,
    input,
    requestKey: request.requestKey,
    attempt: 1,
    startedBy: describeRef({ resourceManager, key: parent.key }),
    parent: { uid, resourceManager, key: parent.key },
    isDoubted: isAgain(tx),
  });
  adopt(tx, parent, id);
  return storedRun(tx, id);
}

/** The newest attempt under a request key of the claim's resource. @throws LEASE_LOST */
export function childOf(
  tx: Transaction,
  claim: Claim,
  requestKey: string,
): (RunRow & InputHash) | undefined {
  return newestChild(tx, claimedResource(tx, claim).uid, requestKey);
}

/**
 * A new attempt: same request, today's code. One that was given up without an end (its code changed,
 * its runners crashed) ends as cancelled. @throws NOT_FOUND, RUN_NOT_FAILED, DELETING
 */
export function retryRun(
  tx: Transaction,
  ids: Ids,
  { runId, by }: { runId: string; by: string },
): StoredRun {
  const run = runByUid(tx, runId);
  const attempt = run.attempt + 1;
  refuseRetry(tx, run);
  const parent = parentOf(tx, run);
  const workflow = acceptedWorkflow(tx, run.project, workflowOf(run.manager));
  if (!hasEnded(run)) {
    const message = `given up by ${by} for attempt ${attempt}`;
    moveRun(tx, run, { state: "failed", reason: "Cancelled", message });
  }
  const id = insertRun(tx, {
    runId: ids.next(),
    workflow,
    input: tx.get<{ body: string }>(INPUT_OF, run.id)?.body ?? "null",
    requestKey: run.request_key,
    attempt,
    startedBy: by,
    ...(run.session === null ? {} : { session: run.session }),
    ...(run.parent_uid === null
      ? {}
      : {
          parent: {
            uid: run.parent_uid,
            resourceManager: run.parent_manager ?? "",
            key: run.parent_key ?? "",
          },
        }),
  });
  // Read again: the end of the attempt before may have taken the finalizer away.
  if (parent) adopt(tx, resourceByUid(tx, parent.uid) as ResourceRow, id, run.id);
  return storedRun(tx, id);
}

const INPUT_OF =
  "SELECT b.body FROM resource r JOIN spec_body b ON b.id = r.body_id WHERE r.id = ?";

function refuseRetry(tx: Transaction, run: RunRow): void {
  const refuse = (why: string, hint?: string) => {
    const message = `run ${run.uid} ${why}`;
    throw new PiWorkflowsError("RUN_NOT_FAILED", message, hint === undefined ? {} : { hint });
  };
  const isGivenUp = run.reason === "DefinitionChanged" || run.reason === "Stalled";
  if (run.state !== "failed" && !isGivenUp) refuse(`is ${run.state}`);
  const newest =
    run.parent_uid === null
      ? newestOfLane(tx, run.lane, run.request_key)
      : newestChild(tx, run.parent_uid, run.request_key);
  if (newest && newest.attempt > run.attempt) {
    refuse(`was tried again: attempt ${newest.attempt} is ${newest.uid}`);
  }
  const ambiguous = tx.get<{ visit: number; node: string }>(
    `SELECT visit, node FROM question WHERE resource_id = ? AND about = 'ambiguous' AND open = 1`,
    run.id,
  );
  if (ambiguous && !hasEnded(run)) {
    refuse(
      `has an attempt of ${ambiguous.node} of which nobody knows how it ended`,
      "Say how with `pi-workflows run resolve`, or end the run with `pi-workflows run cancel`.",
    );
  }
}

/** The resource that the new attempt is for. @throws DELETING where that is no more */
function parentOf(tx: Transaction, run: RunRow): ResourceRow | undefined {
  if (run.parent_uid === null) return undefined;
  const parent = resourceByUid(tx, run.parent_uid);
  if (parent?.state === "live" && parent.deletion_at === null) return parent;
  throw beingDeleted(`${run.parent_manager ?? ""} ${run.parent_key ?? ""}`);
}

function beingDeleted(parent: string): PiWorkflowsError {
  return new PiWorkflowsError(
    "DELETING",
    `${parent} is deleted or being deleted, so that it gets no new run`,
    { hint: "A run of its own can be started with `pi-workflows run start`." },
  );
}

/** The parent's side of a new child run. `instead` is the run whose place in the link it takes. */
function adopt(tx: Transaction, parent: ResourceRow, id: number, instead?: number): void {
  addFinalizer(tx, parent, CHILD_RUNS);
  if (instead === undefined || parent.current_run === instead) pointTo(tx, parent.uid, id);
  const run = tx.get<RunRow>(`${SELECT_RUNS} WHERE u.resource_id = ?`, id) as RunRow;
  const text = `${run.request_key}: ${workflowOf(run.manager)} ${run.uid} pending`;
  appendEvent(tx, parent.id, normal("ChildRun", text));
}

function pointTo(tx: Transaction, parentUid: string, id: number): void {
  const before = resourceByUid(tx, parentUid);
  if (before?.current_run === id) return;
  tx.run(
    "UPDATE resource SET current_run = ?, resource_version = ?, updated_at = ? WHERE uid = ?",
    id,
    tx.nextVersion(),
    tx.now,
    parentUid,
  );
}

type InputHash = { spec_hash: string };
const SELECT_WITH_HASH = SELECT_RUNS.replace("SELECT ", "SELECT r.spec_hash, ");

/** Of runs that are nobody's children. */
function newestOfLane(
  tx: Transaction,
  lane: number,
  requestKey: string,
): (RunRow & InputHash) | undefined {
  return tx.get<RunRow & InputHash>(
    `${SELECT_WITH_HASH} WHERE u.lane = ? AND u.request_key = ? AND u.parent_uid IS NULL
     ORDER BY u.attempt DESC LIMIT 1`,
    lane,
    requestKey,
  );
}

function newestChild(
  tx: Transaction,
  parentUid: string,
  requestKey: string,
): (RunRow & InputHash) | undefined {
  return tx.get<RunRow & InputHash>(
    `${SELECT_WITH_HASH} WHERE u.parent_uid = ? AND u.request_key = ?
     ORDER BY u.attempt DESC LIMIT 1`,
    parentUid,
    requestKey,
  );
}

/** The run found under a key, if it is what was asked for. @throws RUN_CONFLICT */
function sameRun(
  tx: Transaction,
  found: RunRow & InputHash,
  asked: { workflow: string; input: string },
): StoredRun {
  const isSame =
    found.manager === workflowLane(asked.workflow) &&
    found.spec_hash === fingerprintText(asked.input);
  if (isSame) return storedRun(tx, found.id);
  const what =
    found.manager === workflowLane(asked.workflow) ? "another input" : "another workflow";
  throw new PiWorkflowsError(
    "RUN_CONFLICT",
    `request ${found.request_key} began run ${found.uid} of ${workflowOf(found.manager)}, for ${what}`,
    { details: { requestKey: found.request_key, runId: found.uid } },
  );
}

type NewRun = {
  runId: string;
  workflow: WorkflowRecord;
  /** Canonical. */
  input: string;
  requestKey: string;
  attempt: number;
  startedBy: string;
  session?: string;
  parent?: { uid: string; resourceManager: string; key: string };
  /** True where the same run may have been made before the store was restored. */
  isDoubted?: boolean;
};

/** The run, its resource and its queue row. */
function insertRun(tx: Transaction, run: NewRun): number {
  const { workflow } = run;
  const id = tx.insert(
    `INSERT INTO resource (uid, lane, key, state, resource_version, generation, body_id, spec_hash,
       finalizers, labels, depends_on, owner_kind, owner_name, prunable, suspended,
       observed_generation, conditions, status, created_at, updated_at)
     VALUES (?, ?, ?, 'live', ?, 1, ?, ?, '[]', '{}', '[]', 'person', ?, 0, 0, 0, '[]', '{}', ?, ?)`,
    run.runId,
    workflow.lane,
    run.runId,
    tx.next(),
    insertBody(tx, run.input),
    fingerprintText(run.input),
    run.startedBy,
    tx.now,
    tx.now,
  );
  tx.run(
    `INSERT INTO run (resource_id, lane, digest, state, parent_uid, parent_manager, parent_key,
       request_key, attempt, session, started_by, created_at, deadline_at, doubted_from)
     VALUES (?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    id,
    workflow.lane,
    workflow.digest,
    run.parent?.uid ?? null,
    run.parent?.resourceManager ?? null,
    run.parent?.key ?? null,
    run.requestKey,
    run.attempt,
    run.session ?? null,
    run.startedBy,
    tx.now,
    tx.now + workflow.deadlineMs,
    run.isDoubted ? 1 : null,
  );
  firstEvent(tx, id, normal("RunCreated", `attempt ${run.attempt}, by ${run.startedBy}`));
  enqueue(tx, { id, lane: workflow.lane }, { cause: "request" });
  return id;
}

function checkedInput(input: Json): string {
  const text = canonicalJson(input);
  const bytes = byteLength(text);
  if (bytes <= LIMITS.spec) return text;
  throw new PiWorkflowsError(
    "TOO_LARGE",
    `the input of the run has ${bytes} bytes; ${LIMITS.spec} are allowed`,
  );
}

function checkedKey(key: string): string {
  if (key !== "" && key.length <= LIMITS.key) return key;
  throw new PiWorkflowsError(
    "BAD_REQUEST",
    `a request key must have 1 to ${LIMITS.key} characters`,
  );
}
