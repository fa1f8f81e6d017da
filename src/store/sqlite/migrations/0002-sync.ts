/** Sync sets: what a person enabled, what became of it, and every prune it made. */
export const SYNC = `
CREATE TABLE sync_set (
  project_id INTEGER PRIMARY KEY REFERENCES project (id),
  -- A SyncSet without its project, and its latest SyncReport (model/sync.ts).
  settings TEXT NOT NULL CHECK (json_type(settings) = 'object'),
  report TEXT NOT NULL CHECK (json_type(report) = 'object'),
  updated_at INTEGER NOT NULL
) STRICT;

-- What was pruned, why, and who confirmed it. Outlives the set, so that it can be looked up.
CREATE TABLE sync_prune (
  id INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES project (id),
  record TEXT NOT NULL CHECK (json_type(record) = 'object'),
  confirmed_by TEXT,
  at INTEGER NOT NULL
) STRICT;
CREATE INDEX sync_prune_of_project ON sync_prune (project_id, id);
`;
