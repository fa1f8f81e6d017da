/** The version of this installation; a test holds it to package.json. */
export const VERSION = "0.1.0";

/**
 * A file of the running installation, by its path from the package's root. Every module, in `src`
 * and in the built `dist`, lies two levels below that root.
 */
export function installationUrl(path: string): URL {
  return new URL(`../../${path}`, import.meta.url);
}
