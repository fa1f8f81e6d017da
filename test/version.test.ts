import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { installationUrl, VERSION } from "../src/model/installation.ts";

it("VERSION is package.json's", () => {
  const manifest = JSON.parse(readFileSync(installationUrl("package.json"), "utf8")) as {
    version: string;
  };
  expect(VERSION).toBe(manifest.version);
});
