/** What a store knows of the backup that it was restored from (E-12). */
export const RESTORE = `
-- When this store was restored, the last resource that the backup had, and the sequence then.
ALTER TABLE store_state ADD COLUMN restored_at INTEGER;
ALTER TABLE store_state ADD COLUMN restored_through INTEGER;
ALTER TABLE store_state ADD COLUMN restored_sequence INTEGER;

-- The first pass of a run since then: what it may have done before is not all in its journal.
ALTER TABLE run ADD COLUMN doubted_from INTEGER CHECK (doubted_from > 0);
`;
