/** Characters: the time to compare grows with the product of two lengths, and nobody mistypes longer names. */
const LONGEST_NAME = 256;

/** More than these are counted, in a list of what there is to choose from. */
const MOST_LISTED = 20;

/** The candidate that `name` was most likely meant to be, if one is near enough. */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > LONGEST_NAME) return undefined;
  let best: string | undefined;
  // A third of the letters may be wrong: "tittle" for "title", not "merge" for "draft".
  let bestDistance = Math.floor(name.length / 3) + 1;
  for (const candidate of candidates) {
    // As far apart as their lengths at least.
    if (Math.abs(candidate.length - name.length) >= bestDistance) continue;
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** What follows the message that there is no `name`: `; did you mean "x"?`, or all that there is. */
export function didYouMean(name: string, known: readonly string[], all = "there are"): string {
  const near = nearestName(name, known);
  if (near !== undefined) return `; did you mean ${JSON.stringify(near)}?`;
  return known.length === 0 ? "" : `; ${all}: ${listed(known)}`;
}

/** Long lists end in how many more there are. */
export function listed(options: readonly string[]): string {
  const shown = options.slice(0, MOST_LISTED);
  const more = options.length - shown.length;
  return shown.join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      const isSwap = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current.push(
        Math.min(
          (previous[column - 1] as number) + Number(!isSame),
          (previous[column] as number) + 1,
          (current[column - 1] as number) + 1,
          isSwap && row > 1 && column > 1 ? (before[column - 2] as number) + 1 : Infinity,
        ),
      );
    }
    before = previous;
    previous = current;
  }
  return previous[right.length] as number;
}
