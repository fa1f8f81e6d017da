/**
 * Runs of workflows. A run is a resource of its workflow's lane, `workflow/NAME`, with its run id as
 * uid and key; one that has ended is a removed resource. What only runs have is here.
 */
export const RUNS = `
-- The run that a resource asked for last: what its status shows. Of "resource (id)", by hand, since
-- a run that is pointed to is not deleted.
ALTER TABLE resource ADD COLUMN current_run INTEGER;

-- One row per run, one to one with its resource, which holds its input as its spec.
CREATE TABLE run (
  resource_id INTEGER PRIMARY KEY REFERENCES resource (id) ON DELETE CASCADE,
  lane INTEGER NOT NULL REFERENCES manager (lane),
  -- Of the code that it runs; today's until it begins.
  digest TEXT NOT NULL CHECK (digest <> ''),
  -- True where a person said to go on with the old code.
  keeps_code INTEGER NOT NULL DEFAULT 0 CHECK (keeps_code IN (0, 1)),
  state TEXT NOT NULL CHECK (state IN ('pending', 'running', 'waiting', 'succeeded', 'failed',
    'interrupted')),
  reason TEXT,
  message TEXT CHECK (octet_length(message) <= 4096),
  node TEXT,
  exit TEXT,
  output TEXT CHECK (octet_length(output) BETWEEN 1 AND 1048576),
  -- Its parent is named by value, so that a run outlives it.
  parent_uid TEXT CHECK (parent_uid <> ''),
  parent_manager TEXT,
  parent_key TEXT,
  -- Runs of one request are its attempts, from 1.
  request_key TEXT NOT NULL CHECK (length(request_key) BETWEEN 1 AND 512),
  attempt INTEGER NOT NULL CHECK (attempt > 0),
  session TEXT CHECK (session <> ''),
  started_by TEXT NOT NULL,
  -- Who wants it cancelled, and whether its journal says so already.
  cancel_by TEXT CHECK (cancel_by <> ''),
  cancel_taken INTEGER NOT NULL DEFAULT 0 CHECK (cancel_taken IN (0, 1)),
  -- Passes so far, lines of its journal, and lines and bytes of its log.
  epochs INTEGER NOT NULL DEFAULT 0 CHECK (epochs >= 0),
  entries INTEGER NOT NULL DEFAULT 0 CHECK (entries >= 0),
  log_entries INTEGER NOT NULL DEFAULT 0 CHECK (log_entries >= 0),
  log_bytes INTEGER NOT NULL DEFAULT 0 CHECK (log_bytes >= 0),
  -- The last line of the log's beginning, which is kept.
  log_head INTEGER NOT NULL DEFAULT 0 CHECK (log_head BETWEEN 0 AND log_entries),
  created_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at INTEGER,
  deadline_at INTEGER NOT NULL,
  CHECK (CASE state
    WHEN 'waiting' THEN ifnull(reason IN ('Checkpoint', 'Paused'), 0)
    WHEN 'interrupted' THEN ifnull(reason IN ('Ambiguous', 'DefinitionChanged', 'Stalled'), 0)
    WHEN 'failed' THEN ifnull(reason IN ('NodeFailed', 'DeadlineExceeded', 'Cancelled',
      'InvalidInput', 'InvalidOutput'), 0)
    ELSE reason IS NULL END),
  CHECK ((ended_at IS NOT NULL) = (state IN ('succeeded', 'failed'))),
  CHECK ((exit IS NOT NULL) = (state = 'succeeded') AND (output IS NOT NULL) = (exit IS NOT NULL)),
  CHECK ((started_at IS NOT NULL) = (epochs > 0)),
  CHECK (state <> 'running' OR epochs > 0),
  CHECK ((parent_uid IS NULL) = (parent_manager IS NULL)),
  CHECK ((parent_uid IS NULL) = (parent_key IS NULL))
) STRICT;
CREATE UNIQUE INDEX run_of_parent ON run (parent_uid, request_key, attempt)
  WHERE parent_uid IS NOT NULL;
CREATE UNIQUE INDEX run_of_person ON run (lane, request_key, attempt) WHERE parent_uid IS NULL;
CREATE INDEX run_of_lane ON run (lane, resource_id);
CREATE INDEX run_of_session ON run (session, resource_id) WHERE session IS NOT NULL;
CREATE INDEX run_open ON run (resource_id) WHERE ended_at IS NULL;

-- What happened in a run, line by line; only ever appended to. Values come last, so that reading the
-- rest does not touch their pages.
CREATE TABLE journal (
  resource_id INTEGER NOT NULL REFERENCES run (resource_id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL CHECK (sequence > 0),
  epoch INTEGER NOT NULL CHECK (epoch > 0),
  at INTEGER NOT NULL,
  event TEXT NOT NULL CHECK (event IN ('begun', 'succeeded', 'failed', 'aborted', 'released',
    'ambiguous', 'recovered', 'cancel', 'deadline')),
  visit INTEGER CHECK (visit > 0),
  node TEXT CHECK (node <> ''),
  attempt INTEGER CHECK (attempt > 0),
  compensation INTEGER NOT NULL CHECK (compensation IN (0, 1)),
  kind TEXT,
  started_at INTEGER,
  -- The members that few lines have: choice, error, who said so.
  detail TEXT CHECK (json_type(detail) = 'object'),
  input TEXT,
  output TEXT,
  PRIMARY KEY (resource_id, sequence),
  CHECK ((visit IS NULL) = (event IN ('recovered', 'cancel', 'deadline'))),
  CHECK ((visit IS NULL) = (node IS NULL) AND (visit IS NULL) = (attempt IS NULL))
) STRICT, WITHOUT ROWID;

-- What of a run waits, or waited, for a person: its checkpoints as they are reached, and attempts of
-- which nobody knows how they ended.
CREATE TABLE question (
  resource_id INTEGER NOT NULL REFERENCES run (resource_id) ON DELETE CASCADE,
  visit INTEGER NOT NULL,
  about TEXT NOT NULL CHECK (about IN ('checkpoint', 'ambiguous')),
  node TEXT NOT NULL,
  -- The how manieth time that this checkpoint is reached.
  ordinal INTEGER NOT NULL CHECK (ordinal > 0),
  open INTEGER NOT NULL CHECK (open IN (0, 1)),
  PRIMARY KEY (resource_id, visit)
) STRICT, WITHOUT ROWID;
CREATE INDEX question_of_node ON question (resource_id, node, ordinal) WHERE about = 'checkpoint';

-- What people said to a run and its journal does not say yet.
CREATE TABLE answer (
  resource_id INTEGER NOT NULL REFERENCES run (resource_id) ON DELETE CASCADE,
  node TEXT NOT NULL CHECK (node <> ''),
  ordinal INTEGER NOT NULL CHECK (ordinal > 0),
  value TEXT NOT NULL CHECK (octet_length(value) BETWEEN 1 AND 1048576),
  by TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (resource_id, node, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE resolution (
  resource_id INTEGER NOT NULL REFERENCES run (resource_id) ON DELETE CASCADE,
  visit INTEGER NOT NULL,
  outcome TEXT NOT NULL CHECK (outcome IN ('succeeded', 'failed', 'retry')),
  output TEXT CHECK (octet_length(output) BETWEEN 1 AND 1048576),
  message TEXT,
  by TEXT NOT NULL,
  at INTEGER NOT NULL,
  PRIMARY KEY (resource_id, visit),
  CHECK ((message IS NOT NULL) = (outcome = 'failed')),
  CHECK (output IS NULL OR outcome = 'succeeded')
) STRICT, WITHOUT ROWID;

-- What a run said beside its journal: bounded, with its beginning kept.
CREATE TABLE run_log (
  resource_id INTEGER NOT NULL REFERENCES run (resource_id) ON DELETE CASCADE,
  sequence INTEGER NOT NULL CHECK (sequence > 0),
  at INTEGER NOT NULL,
  visit INTEGER NOT NULL,
  node TEXT NOT NULL,
  stream TEXT NOT NULL CHECK (stream IN ('stdout', 'stderr', 'log', 'agent')),
  text TEXT NOT NULL,
  PRIMARY KEY (resource_id, sequence)
) STRICT, WITHOUT ROWID;
`;
