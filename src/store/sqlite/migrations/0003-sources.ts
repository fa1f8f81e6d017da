/**
 * Sources: a queue row may name the source that woke it (`cron:0 3 * * *`), a source remembers how
 * far it has looked, and a webhook which deliveries it has seen. SQLite changes no CHECK in place, so
 * the queue is made anew.
 */
export const SOURCES = `
CREATE TABLE queue_with_sources (
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
INSERT INTO queue_with_sources (resource_id, lane, class, ready_at, seq, cause, enqueue_seq,
    claimed_seq, attempts, crash_attempts, backoff_until, hot_passes, hot_since, claim_token,
    claim_generation, reconcile_id, read_generation, claim_cause, claimed_at, claim_expires_at)
  SELECT resource_id, lane, class, ready_at, seq, cause, enqueue_seq,
    claimed_seq, attempts, crash_attempts, backoff_until, hot_passes, hot_since, claim_token,
    claim_generation, reconcile_id, read_generation, claim_cause, claimed_at, claim_expires_at
  FROM queue;
DROP TABLE queue;
ALTER TABLE queue_with_sources RENAME TO queue;
CREATE INDEX queue_ready ON queue (lane, class, ready_at, seq) WHERE claim_token IS NULL;
CREATE INDEX queue_claimed ON queue (claim_expires_at) WHERE claim_token IS NOT NULL;

-- What a source remembers over a restart, by its own name within the lane: a mark that it alone reads.
CREATE TABLE source_mark (
  lane INTEGER NOT NULL REFERENCES manager (lane) ON DELETE CASCADE,
  source TEXT NOT NULL CHECK (source <> ''),
  mark TEXT NOT NULL CHECK (octet_length(mark) <= 4096),
  PRIMARY KEY (lane, source)
) STRICT, WITHOUT ROWID;

-- Deliveries of webhooks that were taken, so that a replay is none.
CREATE TABLE webhook_delivery (
  id INTEGER PRIMARY KEY,
  webhook TEXT NOT NULL CHECK (webhook <> ''),
  delivery TEXT NOT NULL CHECK (octet_length(delivery) BETWEEN 1 AND 256),
  at INTEGER NOT NULL,
  UNIQUE (webhook, delivery)
) STRICT;
CREATE INDEX webhook_delivery_at ON webhook_delivery (at);
`;
