import { chmodSync, existsSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import {
  defaultHome,
  findSocket,
  homeAt,
  placeSocket,
  prepareHome,
  readInfo,
  writeInfo,
} from "../../src/server/home.ts";
import { ownTmpdir, tempFolder } from "./temp.ts";

const mode = (file: string): string => (statSync(file).mode & 0o777).toString(8);

describe("the state folder", () => {
  it("is PI_WORKFLOWS_HOME, else under the home folder", () => {
    expect(defaultHome({ PI_WORKFLOWS_HOME: "/state" })).toBe("/state");
    expect(defaultHome({})).toMatch(/\.pi\/agent\/workflows$/);
  });

  it("is made for this user only, and made private where it was not", () => {
    const folder = path.join(tempFolder(), "deep", "home");
    const home = homeAt(folder);
    prepareHome(home);
    expect(mode(folder)).toBe("700");
    expect(mode(home.bundles)).toBe("700");
    chmodSync(folder, 0o755);
    prepareHome(home);
    expect(mode(folder)).toBe("700");
  });

  it("is refused where it is a link or a file", () => {
    const folder = tempFolder();
    mkdirSync(path.join(folder, "real"));
    symlinkSync(path.join(folder, "real"), path.join(folder, "link"));
    expect(() => prepareHome(homeAt(path.join(folder, "link")))).toThrow(/is not a folder/);
    writeFileSync(path.join(folder, "file"), "");
    for (const name of ["file", "file/home"]) {
      expect(() => prepareHome(homeAt(path.join(folder, name)))).toThrow(
        expect.objectContaining({ code: "UNSUPPORTED", hint: expect.stringMatching(/HOME/) }),
      );
    }
  });

  it("remembers what the server says of itself", () => {
    const home = homeAt(tempFolder());
    expect(readInfo(home)).toBeUndefined();
    const info = { pid: 1, version: "0.1.0", protocol: 1, startedAt: 5, socket: "/s" };
    writeInfo(home, info);
    expect(readInfo(home)).toEqual(info);
  });
});

describe("the socket", () => {
  it("is in the state folder where its path fits an address", () => {
    const home = homeAt("/tmp/short");
    expect(placeSocket(home)).toBe("/tmp/short/server.sock");
    expect(findSocket(home)).toBe("/tmp/short/server.sock");
  });

  it("is at a short private place where the path is too long, which clients learn from the home", () => {
    ownTmpdir();
    const home = homeAt(path.join(tempFolder(), "x".repeat(120)));
    prepareHome(home);
    expect(findSocket(home)).toBeUndefined();
    const socket = placeSocket(home);
    expect(Buffer.byteLength(socket)).toBeLessThanOrEqual(103);
    expect(mode(path.dirname(socket))).toBe("700");
    expect(existsSync(socket)).toBe(false);
    writeInfo(home, { pid: 1, version: "0", protocol: 1, startedAt: 0, socket });
    expect(findSocket(home)).toBe(socket);
  });
});
