/** The version of this installation; a test holds it to package.json. */
export const VERSION = "0.1.0";

/**
 * A file of the running installation, by its path from the package's root. Every module, in `src`
 * and in the built `dist`, lies two levels below that root.
 */
export function installationUrl(path: string): URL {
  return new URL(`../../${path}`, import.meta.url);
}

// Passes make short-lived garbage, which V8 lets grow to three times 16 MiB and more before it
// looks: the server then takes 150 to 170 MB under load, against 110, and is no faster (goal M1).
/** Arguments of Node for a server's process. */
export const SERVER_FLAGS: readonly string[] = ["--max-semi-space-size=4"];
