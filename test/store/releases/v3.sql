-- A store of schema version 3, as it was released. Never edited.
PRAGMA foreign_keys = OFF;
CREATE TABLE store_state (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  store_id TEXT NOT NULL CHECK (store_id <> ''),
  epoch INTEGER NOT NULL CHECK (epoch >= 0),
  -- Gives resource versions, queue order, claim generations and event numbers.
  sequence INTEGER NOT NULL CHECK (sequence >= 0),
  -- The sequence at the latest committed change of a resource.
  revision INTEGER NOT NULL CHECK (revision BETWEEN 0 AND sequence),
  -- Queue time at the latest commit: it does not go back, even over a restart.
  queue_time INTEGER NOT NULL,
  opened_at INTEGER NOT NULL
) STRICT;
CREATE TABLE project (
  id INTEGER PRIMARY KEY,
  path TEXT NOT NULL UNIQUE CHECK (path <> '')
) STRICT;
CREATE TABLE manager (
  lane INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project (id),
  name TEXT NOT NULL CHECK (length(name) BETWEEN 1 AND 128),
  definition TEXT CHECK (json_valid(definition)),
  digest TEXT CHECK (digest <> ''),
  accepted_at INTEGER,
  UNIQUE (project_id, name),
  CHECK ((definition IS NULL) = (accepted_at IS NULL) AND (digest IS NULL) = (accepted_at IS NULL))
) STRICT;
CREATE TABLE spec_body (
  id INTEGER PRIMARY KEY,
  body TEXT NOT NULL CHECK (octet_length(body) BETWEEN 1 AND 1048576)
) STRICT;
CREATE TABLE staged_body (
  first_id INTEGER PRIMARY KEY,
  last_id INTEGER NOT NULL CHECK (last_id >= first_id),
  batch TEXT NOT NULL CHECK (batch <> '')
) STRICT;
CREATE TABLE resource (
  id INTEGER PRIMARY KEY,
  uid TEXT NOT NULL UNIQUE CHECK (uid <> ''),
  lane INTEGER NOT NULL REFERENCES manager (lane),
  key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 512),
  -- A removed resource stays as a tombstone with its history until retention.
  state TEXT NOT NULL CHECK (state IN ('live', 'removed')),
  resource_version INTEGER NOT NULL CHECK (resource_version > 0),
  generation INTEGER NOT NULL CHECK (generation > 0),
  body_id INTEGER NOT NULL,
  spec_hash TEXT NOT NULL CHECK (spec_hash <> ''),
  deletion_at INTEGER,
  finalizers TEXT NOT NULL CHECK (json_type(finalizers) = 'array'),
  labels TEXT NOT NULL CHECK (json_type(labels) = 'object'),
  depends_on TEXT NOT NULL CHECK (json_type(depends_on) = 'array'),
  owner_kind TEXT NOT NULL CHECK (owner_kind IN ('sync', 'apply', 'person')),
  owner_name TEXT NOT NULL,
  file TEXT CHECK (file <> ''),
  -- The rest of the origin: line, commit, dirty, command.
  origin TEXT CHECK (json_type(origin) = 'object'),
  prunable INTEGER NOT NULL CHECK (prunable IN (0, 1)),
  suspended INTEGER NOT NULL CHECK (suspended IN (0, 1)),
  observed_generation INTEGER NOT NULL CHECK (observed_generation BETWEEN 0 AND generation),
  conditions TEXT NOT NULL,
  status TEXT NOT NULL,
  -- Derived from the conditions: the generation for which Ready is true, and the one for which the
  -- runtime has stopped trying until the spec changes or a person asks.
  ready_generation INTEGER,
  held_generation INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  removed_at INTEGER,
  -- Token of the pass that removed its own resource: that pass may still settle.
  removed_by TEXT,
  CHECK (octet_length(status) + octet_length(conditions) <= 1048576),
  CHECK ((state = 'removed') = (removed_at IS NOT NULL)),
  -- There is no state "deleting with zero finalizers" (D-2).
  CHECK (state = 'removed' OR deletion_at IS NULL OR finalizers <> '[]')
) STRICT;
CREATE TABLE generation (
  id INTEGER PRIMARY KEY,
  resource_id INTEGER NOT NULL REFERENCES resource (id) ON DELETE CASCADE,
  generation INTEGER NOT NULL CHECK (generation > 0),
  body_id INTEGER NOT NULL,
  spec_hash TEXT NOT NULL,
  origin TEXT NOT NULL CHECK (json_type(origin) = 'object'),
  at INTEGER NOT NULL,
  UNIQUE (resource_id, generation)
) STRICT;
CREATE TABLE effect (
  id INTEGER PRIMARY KEY,
  resource_id INTEGER NOT NULL REFERENCES resource (id) ON DELETE CASCADE,
  key TEXT NOT NULL CHECK (length(key) BETWEEN 1 AND 512),
  kind TEXT NOT NULL CHECK (kind <> ''),
  generation INTEGER NOT NULL,
  fingerprint TEXT NOT NULL CHECK (fingerprint <> ''),
  request TEXT NOT NULL CHECK (octet_length(request) <= 65536),
  state TEXT NOT NULL CHECK (state IN ('pending', 'applied', 'rejected', 'indeterminate')),
  external_ref TEXT,
  result TEXT CHECK (octet_length(result) <= 65536),
  reason TEXT,
  attempts INTEGER NOT NULL CHECK (attempts > 0),
  parked INTEGER NOT NULL CHECK (parked IN (0, 1)),
  -- Token of the claim that made the latest call (E-10).
  claim_token TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  completed_at INTEGER,
  sequence INTEGER NOT NULL,
  UNIQUE (resource_id, key),
  CHECK ((completed_at IS NOT NULL) = (state IN ('applied', 'rejected'))),
  CHECK (parked = 0 OR state = 'indeterminate')
) STRICT;
CREATE TABLE event (
  sequence INTEGER PRIMARY KEY,
  resource_id INTEGER NOT NULL REFERENCES resource (id) ON DELETE CASCADE,
  type TEXT NOT NULL CHECK (type IN ('Normal', 'Warning')),
  reason TEXT NOT NULL CHECK (length(reason) BETWEEN 1 AND 128),
  message TEXT NOT NULL CHECK (octet_length(message) <= 4096),
  payload TEXT CHECK (octet_length(payload) <= 65536),
  count INTEGER NOT NULL CHECK (count > 0),
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL
) STRICT;
CREATE TABLE pass (
  resource_id INTEGER NOT NULL REFERENCES resource (id) ON DELETE CASCADE,
  -- The claim's generation: rises with every pass.
  claim_generation INTEGER NOT NULL,
  claim_token TEXT NOT NULL,
  reconcile_id TEXT NOT NULL CHECK (reconcile_id <> ''),
  generation INTEGER NOT NULL,
  cause TEXT NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('settled', 'requeue', 'requeueAfter', 'failed', 'parked',
    'crashed')),
  detail TEXT,
  requeue_after INTEGER,
  started_at INTEGER NOT NULL,
  duration INTEGER NOT NULL,
  -- What the settle answered, so that settling again answers the same (F-6).
  resource_version INTEGER,
  ready_at INTEGER,
  PRIMARY KEY (resource_id, claim_generation)
) STRICT, WITHOUT ROWID;
CREATE TABLE sync_set (
  project_id INTEGER PRIMARY KEY REFERENCES project (id),
  -- A SyncSet without its project, and its latest SyncReport (model/sync.ts).
  settings TEXT NOT NULL CHECK (json_type(settings) = 'object'),
  report TEXT NOT NULL CHECK (json_type(report) = 'object'),
  updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE sync_prune (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project (id),
  record TEXT NOT NULL CHECK (json_type(record) = 'object'),
  confirmed_by TEXT,
  at INTEGER NOT NULL
) STRICT;
CREATE TABLE "queue" (
  resource_id INTEGER PRIMARY KEY REFERENCES resource (id) ON DELETE CASCADE,
  lane INTEGER NOT NULL,
  -- Index in QUEUE_CLASSES, best first.
  class INTEGER NOT NULL CHECK (class IN (0, 1, 2)),
  ready_at INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  cause TEXT NOT NULL CHECK (cause IN ('spec', 'delete', 'request', 'schedule', 'requeue', 'retry',
    'effect', 'child', 'status', 'recovery', 'repair', 'source')
    OR substr(cause, 1, instr(cause, ':')) IN ('cron:', 'files:', 'watch:', 'webhook:')),
  -- Dirty again after the claim where enqueue_seq > claimed_seq (Q-2, Q-3).
  enqueue_seq INTEGER NOT NULL,
  claimed_seq INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  crash_attempts INTEGER NOT NULL DEFAULT 0 CHECK (crash_attempts >= 0),
  backoff_until INTEGER,
  -- Passes asked for by passes since hot_since (B-5).
  hot_passes INTEGER NOT NULL DEFAULT 0,
  hot_since INTEGER NOT NULL DEFAULT 0,
  claim_token TEXT CHECK (claim_token <> ''),
  claim_generation INTEGER,
  reconcile_id TEXT,
  -- The resource's generation when it was handed out (G-4).
  read_generation INTEGER,
  claim_cause TEXT,
  claimed_at INTEGER,
  claim_expires_at INTEGER,
  CHECK (claim_token IS NULL OR (claim_generation IS NOT NULL AND claimed_seq IS NOT NULL
    AND reconcile_id IS NOT NULL AND read_generation IS NOT NULL AND claim_cause IS NOT NULL AND claimed_at IS NOT NULL AND claim_expires_at IS NOT NULL))
) STRICT;
CREATE TABLE source_mark (
  lane INTEGER NOT NULL REFERENCES manager (lane) ON DELETE CASCADE,
  source TEXT NOT NULL CHECK (source <> ''),
  mark TEXT NOT NULL CHECK (octet_length(mark) <= 4096),
  PRIMARY KEY (lane, source)
) STRICT, WITHOUT ROWID;
CREATE TABLE webhook_delivery (
  id INTEGER PRIMARY KEY,
  webhook TEXT NOT NULL CHECK (webhook <> ''),
  delivery TEXT NOT NULL CHECK (octet_length(delivery) BETWEEN 1 AND 256),
  at INTEGER NOT NULL,
  UNIQUE (webhook, delivery)
) STRICT;
CREATE UNIQUE INDEX resource_live ON resource (lane, key) WHERE state = 'live';
CREATE INDEX resource_removed ON resource (removed_at) WHERE state = 'removed';
CREATE INDEX effect_open ON effect (resource_id) WHERE state IN ('pending', 'indeterminate');
CREATE INDEX event_of_resource ON event (resource_id, sequence);
CREATE INDEX sync_prune_of_project ON sync_prune (project_id, id);
CREATE INDEX queue_ready ON queue (lane, class, ready_at, seq) WHERE claim_token IS NULL;
CREATE INDEX queue_claimed ON queue (claim_expires_at) WHERE claim_token IS NOT NULL;
CREATE INDEX webhook_delivery_at ON webhook_delivery (at);
INSERT INTO "store_state" ("id", "store_id", "epoch", "sequence", "revision", "queue_time", "opened_at") VALUES (1, 'store', 3, 60, 52, 1767225600000, 1767225600000);
INSERT INTO "project" ("id", "path") VALUES (1, '/projects/widgets');
INSERT INTO "manager" ("lane", "project_id", "name", "definition", "digest", "accepted_at") VALUES (1, 1, 'm', '{"name":"m","path":"/m.ts","scope":"project","digest":"d","inputs":[],"secretPaths":[],"sources":[],"deadlineMs":60000,"maxConcurrent":4}', 'd', 1);
INSERT INTO "manager" ("lane", "project_id", "name", "definition", "digest", "accepted_at") VALUES (2, 1, 'unaccepted', NULL, NULL, NULL);
INSERT INTO "spec_body" ("id", "body") VALUES (1, '{"x":1}');
INSERT INTO "spec_body" ("id", "body") VALUES (2, '{"x":2}');
INSERT INTO "spec_body" ("id", "body") VALUES (3, '{"name":"Grüße 🌻"}');
INSERT INTO "spec_body" ("id", "body") VALUES (4, '{"gone":true}');
INSERT INTO "resource" ("id", "uid", "lane", "key", "state", "resource_version", "generation", "body_id", "spec_hash", "deletion_at", "finalizers", "labels", "depends_on", "owner_kind", "owner_name", "file", "origin", "prunable", "suspended", "observed_generation", "conditions", "status", "ready_generation", "held_generation", "created_at", "updated_at", "removed_at", "removed_by") VALUES (1, 'uid-a', 1, 'a', 'live', 30, 2, 2, 'h2', NULL, '["worktree"]', '{"team":"x"}', '["m/b"]', 'apply', 'specs', 'specs/a.json', '{"line":3}', 1, 0, 1, '[{"type":"Ready","status":true,"reason":"Done","observedGeneration":1,"lastTransitionTime":"2026-01-01T00:00:00.000Z"}]', '{"phase":"one"}', 1, NULL, 1, 2, NULL, NULL);
INSERT INTO "resource" ("id", "uid", "lane", "key", "state", "resource_version", "generation", "body_id", "spec_hash", "deletion_at", "finalizers", "labels", "depends_on", "owner_kind", "owner_name", "file", "origin", "prunable", "suspended", "observed_generation", "conditions", "status", "ready_generation", "held_generation", "created_at", "updated_at", "removed_at", "removed_by") VALUES (2, 'uid-b', 1, 'b', 'live', 31, 1, 3, 'h3', NULL, '[]', '{}', '[]', 'person', 'ann', NULL, NULL, 0, 1, 1, '[]', '{}', NULL, 1, 1, 1, NULL, NULL);
INSERT INTO "resource" ("id", "uid", "lane", "key", "state", "resource_version", "generation", "body_id", "spec_hash", "deletion_at", "finalizers", "labels", "depends_on", "owner_kind", "owner_name", "file", "origin", "prunable", "suspended", "observed_generation", "conditions", "status", "ready_generation", "held_generation", "created_at", "updated_at", "removed_at", "removed_by") VALUES (3, 'uid-c', 1, 'c', 'live', 52, 1, 1, 'h1', 1767225500000, '["worktree"]', '{}', '[]', 'sync', 'set', NULL, NULL, 1, 0, 0, '[]', '{}', NULL, NULL, 1, 1, NULL, NULL);
INSERT INTO "resource" ("id", "uid", "lane", "key", "state", "resource_version", "generation", "body_id", "spec_hash", "deletion_at", "finalizers", "labels", "depends_on", "owner_kind", "owner_name", "file", "origin", "prunable", "suspended", "observed_generation", "conditions", "status", "ready_generation", "held_generation", "created_at", "updated_at", "removed_at", "removed_by") VALUES (4, 'uid-d', 1, 'd', 'removed', 40, 1, 4, 'h4', NULL, '[]', '{}', '[]', 'apply', 'specs', NULL, NULL, 1, 0, 1, '[]', '{}', NULL, NULL, 1, 1, 1767225590000, NULL);
INSERT INTO "generation" ("id", "resource_id", "generation", "body_id", "spec_hash", "origin", "at") VALUES (1, 1, 1, 1, 'h1', '{"owner":{"kind":"apply","name":"specs"}}', 1);
INSERT INTO "generation" ("id", "resource_id", "generation", "body_id", "spec_hash", "origin", "at") VALUES (2, 1, 2, 2, 'h2', '{"owner":{"kind":"apply","name":"specs"},"commit":"abc"}', 2);
INSERT INTO "generation" ("id", "resource_id", "generation", "body_id", "spec_hash", "origin", "at") VALUES (3, 2, 1, 3, 'h3', '{"owner":{"kind":"person","name":"ann"}}', 1);
INSERT INTO "generation" ("id", "resource_id", "generation", "body_id", "spec_hash", "origin", "at") VALUES (4, 3, 1, 1, 'h1', '{"owner":{"kind":"sync","name":"set"}}', 1);
INSERT INTO "generation" ("id", "resource_id", "generation", "body_id", "spec_hash", "origin", "at") VALUES (5, 4, 1, 4, 'h4', '{"owner":{"kind":"apply","name":"specs"}}', 1);
INSERT INTO "effect" ("id", "resource_id", "key", "kind", "generation", "fingerprint", "request", "state", "external_ref", "result", "reason", "attempts", "parked", "claim_token", "started_at", "completed_at", "sequence") VALUES (1, 1, 'merge', 'merge', 1, 'f', '{}', 'indeterminate', NULL, NULL, 'timeout', 1, 0, 't', 1, NULL, 33);
INSERT INTO "effect" ("id", "resource_id", "key", "kind", "generation", "fingerprint", "request", "state", "external_ref", "result", "reason", "attempts", "parked", "claim_token", "started_at", "completed_at", "sequence") VALUES (2, 1, 'push', 'push', 1, 'f2', '{"a":1}', 'applied', 'abc', '{"ok":true}', NULL, 1, 0, 't', 1, 2, 34);
INSERT INTO "effect" ("id", "resource_id", "key", "kind", "generation", "fingerprint", "request", "state", "external_ref", "result", "reason", "attempts", "parked", "claim_token", "started_at", "completed_at", "sequence") VALUES (3, 2, 'no', 'push', 1, 'f3', '{}', 'rejected', NULL, NULL, '404', 2, 0, 't', 1, 2, 36);
INSERT INTO "effect" ("id", "resource_id", "key", "kind", "generation", "fingerprint", "request", "state", "external_ref", "result", "reason", "attempts", "parked", "claim_token", "started_at", "completed_at", "sequence") VALUES (4, 3, 'park', 'push', 1, 'f4', '{}', 'indeterminate', NULL, NULL, 'nobody knows', 3, 1, 't', 1, NULL, 37);
INSERT INTO "event" ("sequence", "resource_id", "type", "reason", "message", "payload", "count", "first_at", "last_at") VALUES (38, 1, 'Normal', 'Created', 'by apply', NULL, 1, 1, 1);
INSERT INTO "event" ("sequence", "resource_id", "type", "reason", "message", "payload", "count", "first_at", "last_at") VALUES (39, 2, 'Warning', 'Failed', 'no', '{"a":1}', 7, 1, 9);
INSERT INTO "pass" ("resource_id", "claim_generation", "claim_token", "reconcile_id", "generation", "cause", "outcome", "detail", "requeue_after", "started_at", "duration", "resource_version", "ready_at") VALUES (1, 20, 't1', 'r1', 1, 'spec', 'settled', NULL, NULL, 1, 5, 30, NULL);
INSERT INTO "pass" ("resource_id", "claim_generation", "claim_token", "reconcile_id", "generation", "cause", "outcome", "detail", "requeue_after", "started_at", "duration", "resource_version", "ready_at") VALUES (2, 21, 't2', 'r2', 1, 'request', 'failed', 'no', NULL, 1, 5, 31, 99);
INSERT INTO "sync_set" ("project_id", "settings", "report", "updated_at") VALUES (1, '{"roots":[".pi/resources"]}', '{"conditions":[],"problems":[],"conflicts":[],"drift":[]}', 5);
INSERT INTO "sync_prune" ("id", "project_id", "record", "confirmed_by", "at") VALUES (1, 1, '{"revision":"abc","items":[]}', 'ann', 6);
INSERT INTO "queue" ("resource_id", "lane", "class", "ready_at", "seq", "cause", "enqueue_seq", "claimed_seq", "attempts", "crash_attempts", "backoff_until", "hot_passes", "hot_since", "claim_token", "claim_generation", "reconcile_id", "read_generation", "claim_cause", "claimed_at", "claim_expires_at") VALUES (1, 1, 0, 1767225600000, 35, 'spec', 35, NULL, 2, 1, 1767225700000, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO "queue" ("resource_id", "lane", "class", "ready_at", "seq", "cause", "enqueue_seq", "claimed_seq", "attempts", "crash_attempts", "backoff_until", "hot_passes", "hot_since", "claim_token", "claim_generation", "reconcile_id", "read_generation", "claim_cause", "claimed_at", "claim_expires_at") VALUES (3, 1, 2, 9007199254740991, 53, 'delete', 53, 53, 0, 0, NULL, 0, 0, 'token', 54, 'rec', 1, 'delete', 1767225599000, 1767225689000);
INSERT INTO "source_mark" ("lane", "source", "mark") VALUES (1, 'files:0', 'mark');
INSERT INTO "webhook_delivery" ("id", "webhook", "delivery", "at") VALUES (1, 'hook', 'id-1', 1767225600000);
PRAGMA application_id = 1885951814;
PRAGMA user_version = 3;
