// Names of spec files, apart from what loads them: clients ask, and should not pay for the loader.

/** Stands for all TypeScript spec files, where what runs belongs to none of them alone. */
export const ALL_TYPESCRIPT = "*";

/** Whether `file` is evaluated rather than parsed. */
export function isTypeScript(file: string): boolean {
  return /\.[cm]?[jt]s$/.test(file);
}

/** What a spec file is called, where a folder is searched for them. */
export const SPEC_FILE = /\.resource\.(?:json|ts|mts|js|mjs)$/;
