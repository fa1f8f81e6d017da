/** A place in a file: line and column count from one. */
export type Place = { file: string; line: number; column: number };

/** One thing wrong with a spec file or definition. */
export type Problem = Place & {
  /** Field path within the manifest, e.g. `spec.merge.method`; empty where it is about the file. */
  path: string;
  /** What is wrong and what is allowed. */
  message: string;
  /** The lines around the place, with a marker. */
  frame?: string;
  /** The spec file that could not be loaded, where the place is in another file that it imports. */
  specFile?: string;
};

/** `file:line:column: path: message`, one line. */
export function formatProblem(problem: Problem): string {
  const at = `${problem.file}:${problem.line}:${problem.column}`;
  return problem.path === ""
    ? `${at}: ${problem.message}`
    : `${at}: ${problem.path}: ${problem.message}`;
}
