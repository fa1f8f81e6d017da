/**
 * What programs need to run: no credentials, and no `NODE_OPTIONS`, which load other code. What a
 * child needs beyond these is its own.
 */
const NEEDED = /^(?:PATH|HOME|USER|LOGNAME|SHELL|LANG|LC_.*|TZ|TMPDIR|TERM|XDG_.*)$/;

/** The part of an environment that children get which have no business with the rest. */
export function plainEnvironment(env: NodeJS.ProcessEnv, more?: RegExp): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] =>
        entry[1] !== undefined && (NEEDED.test(entry[0]) || more?.test(entry[0]) === true),
    ),
  );
}
