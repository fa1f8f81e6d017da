/** What a code means: its exit code (design, section 7), its HTTP status, and what to do about it. */
export type ErrorEntry = { title: string; hint: string; exit: 2 | 3 | 4 | 5; http: number };

/**
 * Every error a user can meet. A hint given where the error is thrown replaces the one here.
 * `docs/errors.md` is generated from this table.
 */
export const ERRORS = {
  USAGE: {
    title: "The command line can't be understood",
    hint: "Run the command with --help.",
    exit: 2,
    http: 400,
  },
  BAD_REQUEST: {
    title: "The request does not have the form the server expects",
    hint: "See schemas/ for the form.",
    exit: 2,
    http: 400,
  },
  NOT_JSON: {
    title: "A value can't be held by JSON",
    hint: "Use strings, finite numbers, booleans, null, arrays and plain objects.",
    exit: 2,
    http: 400,
  },
  INVALID_SPECS: {
    title: "Some spec files are not valid",
    hint: "Mend the places named; nothing was changed.",
    exit: 2,
    http: 422,
  },
  TOO_LARGE: {
    title: "A size limit was exceeded",
    hint: "Make it smaller, or split it.",
    exit: 2,
    http: 413,
  },
  NOT_FOUND: {
    title: "There is no such thing",
    hint: "List what exists with `pi-workflows get`.",
    exit: 2,
    http: 404,
  },
  UNKNOWN_MANAGER: {
    title: "No resource manager of that name",
    hint: "Definitions live in .pi/resource-managers/NAME.resource-manager.ts or ~/.pi/agent/resource-managers/.",
    exit: 2,
    http: 404,
  },
  INVALID_DEFINITION: {
    title: "A definition can't be used",
    hint: "Mend the definition file named.",
    exit: 2,
    http: 422,
  },
  DEFINITION_CHANGED: {
    title: "A definition changed between being read and being accepted",
    hint: "Run the command again.",
    exit: 2,
    http: 409,
  },
  CONFLICT: {
    title: "A resource belongs to another owner",
    hint: "Apply it from where it is owned, or take it over with --force.",
    exit: 2,
    http: 409,
  },
  STALE: {
    title: "The resource changed since it was read",
    hint: "Read it again and repeat.",
    exit: 2,
    http: 409,
  },
  PLAN_STALE: {
    title: "The store or the files changed since the plan was made",
    hint: "Look at the new plan with `pi-workflows diff`, and apply that.",
    exit: 2,
    http: 409,
  },
  PRUNE_BLOCKED: {
    title: "Pruning is blocked",
    hint: "Mend what is named, then apply again.",
    exit: 3,
    http: 409,
  },
  PRUNE_HELD: {
    title: "The prune is larger than the guard allows",
    hint: "Review it, then confirm exactly this set with --confirm-prune HASH.",
    exit: 3,
    http: 409,
  },
  NEEDS_CONFIRMATION: {
    title: "This needs a confirmation",
    hint: "Repeat the command with --yes.",
    exit: 3,
    http: 409,
  },
  RESOLVE_FAILED: {
    title: "Spec files or definitions could not be loaded",
    hint: "The message names the file and the reason.",
    exit: 2,
    http: 422,
  },
  RESOLVE_TIMEOUT: {
    title: "Loading took too long and was stopped",
    hint: "Look for an endless loop or a network call in the file named.",
    exit: 2,
    http: 422,
  },
  LEASE_LOST: {
    title: "The pass no longer holds its claim",
    hint: "Nothing to do: the key will be looked at again.",
    exit: 2,
    http: 409,
  },
  EFFECT_CONFLICT: {
    title: "An effect key was used again for another request",
    hint: "Put what distinguishes the request (generation, head) into the key.",
    exit: 2,
    http: 409,
  },
  EFFECT_NOT_OPEN: {
    title: "The effect is already settled",
    hint: "See `pi-workflows effects`.",
    exit: 2,
    http: 409,
  },
  DELETING: {
    title: "The resource is being deleted",
    hint: "Wait for it to end, then apply again.",
    exit: 2,
    http: 409,
  },
  SUSPENDED: {
    title: "The resource is suspended",
    hint: "Lift it with `pi-workflows resume MANAGER KEY`.",
    exit: 2,
    http: 409,
  },
  RUNNER_FAILED: {
    title: "A runner ended without an answer",
    hint: "See `pi-workflows server logs`.",
    exit: 2,
    http: 500,
  },
  WAIT_TIMEOUT: {
    title: "The wait timed out",
    hint: "See what it waits for with `pi-workflows why MANAGER KEY`.",
    exit: 4,
    http: 408,
  },
  SERVER_UNREACHABLE: {
    title: "The server does not answer",
    hint: "See `pi-workflows server status` and `pi-workflows server logs`.",
    exit: 5,
    http: 503,
  },
  SERVER_RUNNING: {
    title: "Another server owns this state folder",
    hint: "Stop it with `pi-workflows server stop`.",
    exit: 5,
    http: 409,
  },
  SERVER_STOPPING: {
    title: "The server is stopping",
    hint: "Repeat in a moment.",
    exit: 5,
    http: 503,
  },
  VERSION_MISMATCH: {
    title: "Client and server are of versions that do not fit",
    hint: "Upgrade the older one; the message says which.",
    exit: 5,
    http: 426,
  },
  SCHEMA_TOO_NEW: {
    title: "The database was written by a newer version",
    hint: "Upgrade pi-workflows.",
    exit: 2,
    http: 500,
  },
  INVALID_BACKUP: {
    title: "A file is no backup that can be restored",
    hint: "Take another backup; nothing was changed.",
    exit: 2,
    http: 400,
  },
  INVALID_CONFIG: {
    title: "The server's configuration can't be used",
    hint: "Mend the file named; schemas/config.schema.json has its form.",
    exit: 2,
    http: 500,
  },
  UNSUPPORTED: {
    title: "This machine or folder can't be used safely",
    hint: "The message says what is missing.",
    exit: 2,
    http: 500,
  },
  STORE_FULL: {
    title: "The disk is full",
    hint: "Free some space; work resumes by itself.",
    exit: 2,
    http: 507,
  },
  STORE_BUSY: {
    title: "The database is busy",
    hint: "Repeat in a moment; see `pi-workflows server status`.",
    exit: 2,
    http: 503,
  },
  STORE_CORRUPT: {
    title: "The database can't be read",
    hint: "Stop the server, keep a copy, and restore a backup.",
    exit: 2,
    http: 500,
  },
  UNKNOWN_WORKFLOW: {
    title: "No workflow of that name",
    hint: "Definitions live in .pi/workflows/NAME.workflow.ts or ~/.pi/agent/workflows/; see `pi-workflows workflows`.",
    exit: 2,
    http: 404,
  },
  INVALID_INPUT: {
    title: "A run's input, answer or output does not fit its schema",
    hint: "Mend the places named; nothing was changed.",
    exit: 2,
    http: 422,
  },
  RUN_CONFLICT: {
    title: "A request key was used again for another workflow or input",
    hint: "Put what distinguishes the request (generation, head) into the key.",
    exit: 2,
    http: 409,
  },
  RUN_ENDED: {
    title: "The run has ended",
    hint: "See how with `pi-workflows run show ID`.",
    exit: 2,
    http: 409,
  },
  RUN_NOT_FAILED: {
    title: "Only a run that failed can be tried again",
    hint: "See where it is with `pi-workflows run show ID`.",
    exit: 2,
    http: 409,
  },
  NO_QUESTION: {
    title: "The run has no such question",
    hint: "See what it asks with `pi-workflows run show ID`.",
    exit: 2,
    http: 409,
  },
  ALREADY_ANSWERED: {
    title: "The question was answered before",
    hint: "The first answer counts; see it with `pi-workflows run show ID`.",
    exit: 2,
    http: 409,
  },
  NOT_AMBIGUOUS: {
    title: "The attempt is not to be resolved",
    hint: "See which are with `pi-workflows run show ID`.",
    exit: 2,
    http: 409,
  },
  GIT_FAILED: {
    title: "git could not do what was asked of it",
    hint: "The message holds what git said.",
    exit: 2,
    http: 500,
  },
  INTERNAL: {
    title: "Something unexpected happened",
    hint: "Repeat with --verbose, and report what it prints.",
    exit: 2,
    http: 500,
  },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

export type ErrorOptions = {
  /** What to do about it, where the table's hint is too general. */
  hint?: string;
  /** Facts for programs. */
  details?: Record<string, unknown>;
  cause?: unknown;
};

/** An error as it travels over the socket and out of `-o json`. */
export type ErrorJson = {
  code: ErrorCode;
  message: string;
  hint: string;
  details?: Record<string, unknown>;
};

// The command line is built as several bundles, each with a copy of this class, so that an error is
// told by a registered symbol, not by identity.
const ERROR = Symbol.for("pi-workflows.Error");

/** The one error class of the product: a stable code, what happened, what to do. */
export class PiWorkflowsError extends Error {
  readonly [ERROR] = true;
  override readonly name = "PiWorkflowsError";
  readonly code: ErrorCode;
  readonly hint: string;
  readonly details: Record<string, unknown> | undefined;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.hint = options.hint ?? ERRORS[code].hint;
    this.details = options.details;
  }

  static override [Symbol.hasInstance](value: unknown): value is PiWorkflowsError {
    return typeof value === "object" && value !== null && ERROR in value;
  }

  toJSON(): ErrorJson {
    return {
      code: this.code,
      message: this.message,
      hint: this.hint,
      ...(this.details === undefined ? {} : { details: this.details }),
    };
  }

  static fromJSON(json: ErrorJson): PiWorkflowsError {
    const code = Object.hasOwn(ERRORS, json.code) ? json.code : "INTERNAL";
    return new PiWorkflowsError(code, json.message, {
      hint: json.hint,
      ...(json.details === undefined ? {} : { details: json.details }),
    });
  }
}

/** Turns anything thrown into the one error class; the unknown becomes `INTERNAL` with its cause. */
export function toPiWorkflowsError(thrown: unknown): PiWorkflowsError {
  if (thrown instanceof PiWorkflowsError) return thrown;
  const message = thrown instanceof Error ? thrown.message : String(thrown);
  return new PiWorkflowsError("INTERNAL", message, { cause: thrown });
}
