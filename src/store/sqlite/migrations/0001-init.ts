/**
 * Times are epoch milliseconds. `ready_at` and the claim times are queue time (queue-time.ts),
 * all others wall time. Sizes in CHECKs are LIMITS' (model/limits.ts); a test compares them.
 */
export const INIT = `
-- One row: who this store is, and the counters that order everything in it.
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

-- A resource manager in a project: a lane of the queue. A row without definition stands for one
-- that has resources but was not accepted yet.
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

-- Canonical specs, apart from all else so that lists read few pages, and so that the bodies of a
-- large batch can be written before it commits.
CREATE TABLE spec_body (
  id INTEGER PRIMARY KEY,
  body TEXT NOT NULL CHECK (octet_length(body) BETWEEN 1 AND 1048576)
) STRICT;

-- Bodies of a batch that has not committed yet; what is found here at a new epoch is an orphan.
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
CREATE UNIQUE INDEX resource_live ON resource (lane, key) WHERE state = 'live';
CREATE INDEX resource_removed ON resource (removed_at) WHERE state = 'removed';

-- Every state of a spec that is kept. A deletion is a generation with the body of the one before.
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

-- The dirty set: at most one row per resource (Q-1). While a row is claimed, ready_at, class and
-- cause hold what was asked for since the claim; ready_at is then 2^53-1 if nothing was.
CREATE TABLE queue (
  resource_id INTEGER PRIMARY KEY REFERENCES resource (id) ON DELETE CASCADE,
  lane INTEGER NOT NULL,
  -- Index in QUEUE_CLASSES, best first.
  class INTEGER NOT NULL CHECK (class IN (0, 1, 2)),
  ready_at INTEGER NOT NULL,
  seq INTEGER NOT NULL,
  cause TEXT NOT NULL CHECK (cause IN ('spec', 'delete', 'request', 'schedule', 'requeue', 'retry',
    'effect', 'child', 'status', 'recovery', 'repair', 'source')),
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
-- Claimed rows are kept out, so that the ready scan never steps over them.
CREATE INDEX queue_ready ON queue (lane, class, ready_at, seq) WHERE claim_token IS NULL;
CREATE INDEX queue_claimed ON queue (claim_expires_at) WHERE claim_token IS NOT NULL;

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
CREATE INDEX effect_open ON effect (resource_id) WHERE state IN ('pending', 'indeterminate');

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
CREATE INDEX event_of_resource ON event (resource_id, sequence);

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
`;
