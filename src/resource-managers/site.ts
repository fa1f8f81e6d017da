/** Where a declaration's own error is kept: its stack says which line of the author's made it. */
export const SITE = Symbol.for("pi-workflows.Resource.site");

/** Remembers where `declared` is declared; V8 formats the stack only if it is read. */
export function rememberSite<T extends object>(declared: T): T {
  return Object.defineProperty(declared, SITE, { value: new Error("declared here") });
}

/** The stack of the call that declared `value`, where one did. */
export function declarationSite(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null || !(SITE in value)) return undefined;
  const site: unknown = value[SITE];
  return site instanceof Error ? site.stack : undefined;
}
