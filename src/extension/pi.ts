/**
 * What the extension uses of Pi's interface for extensions, from 0.73 to 1.6. It is declared here, not
 * imported: the extension then has nothing of Pi in it, one build serves all versions, and what only
 * newer ones have is optional, so that it is asked for before it is used. A test holds these types
 * against those of the real Pis.
 */

/** Something drawn in the terminal. No line may be wider than `width`: Pi ends when one is. */
export type Component = { render(width: number): string[]; invalidate(): void };

export type ThemeColor = "accent" | "success" | "error" | "warning" | "muted" | "dim" | "text";
export type Theme = { fg(color: ThemeColor, text: string): string; bold(text: string): string };

export type DialogOptions = { signal?: AbortSignal };

export type Ui = {
  /** Undefined where it was dismissed. */
  select(title: string, options: string[], how?: DialogOptions): Promise<string | undefined>;
  /** False also where it was dismissed. */
  confirm(title: string, message: string, how?: DialogOptions): Promise<boolean>;
  input(title: string, placeholder?: string, how?: DialogOptions): Promise<string | undefined>;
  editor(title: string, prefill?: string): Promise<string | undefined>;
  notify(message: string, type?: "info" | "warning" | "error"): void;
  setStatus(key: string, text: string | undefined): void;
  setWidget(
    key: string,
    content: string[] | ((tui: unknown, theme: Theme) => Component) | undefined,
  ): void;
};

/** One line of a session's file. */
export type SessionEntry = { type: string; customType?: string; data?: unknown };

export type Context = {
  ui: Ui;
  /** Absent before 1.0. */
  mode?: "tui" | "rpc" | "json" | "print";
  /** False in print and JSON mode. */
  hasUI: boolean;
  cwd: string;
  /** Whether the model does nothing now. */
  isIdle(): boolean;
  sessionManager: { getSessionId(): string; getEntries(): SessionEntry[] };
  /** Absent where Pi knows no trust. */
  isProjectTrusted?(): boolean;
};

export type Completion = { value: string; label: string; description?: string };

export type Command = {
  description?: string;
  getArgumentCompletions?: (prefix: string) => Promise<Completion[] | null>;
  handler: (args: string, ctx: Context) => Promise<void>;
};

export type ToolText = { content: { type: "text"; text: string }[]; details: unknown };

export type Tool = {
  name: string;
  label: string;
  description: string;
  promptSnippet?: string;
  /** A plain JSON Schema. */
  parameters: object;
  execute(
    id: string,
    parameters: Record<string, unknown>,
    signal: AbortSignal | undefined,
    onUpdate: unknown,
    ctx: Context,
  ): Promise<ToolText>;
};

export type Message = {
  customType: string;
  content: string;
  display: boolean;
  details?: unknown;
};

type RenderOptions = { expanded: boolean };

export type Pi = {
  on(event: "session_start" | "session_shutdown", handler: Handler): unknown;
  registerCommand(name: string, command: Command): void;
  registerTool(tool: Tool): void;
  registerMessageRenderer(
    customType: string,
    renderer: (
      message: { details?: unknown },
      options: RenderOptions,
      theme: Theme,
    ) => Component | undefined,
  ): void;
  /** Absent before 1.0. */
  registerEntryRenderer?(
    customType: string,
    renderer: (
      entry: { data?: unknown },
      options: RenderOptions,
      theme: Theme,
    ) => Component | undefined,
  ): void;
  sendMessage(
    message: Message,
    options?: { triggerTurn?: boolean; deliverAs?: "steer" | "followUp" | "nextTurn" },
  ): void;
  appendEntry(customType: string, data?: unknown): void;
};

type Handler = (event: { type: string; reason?: string }, ctx: Context) => Promise<void>;
