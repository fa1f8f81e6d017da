/** Of the id's random end, so that runs of one moment differ; few enough to be typed. */
const SHOWN = 8;

/** What lists and sentences call a run; commands take it as they take the whole id. */
export function shortId(runId: string): string {
  return runId.slice(-SHOWN);
}
