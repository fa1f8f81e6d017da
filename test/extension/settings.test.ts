import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { candidates } from "../../src/extension/node.ts";
import { DEFAULTS, readSettings } from "../../src/extension/settings.ts";

let root = "";
beforeEach(() => {
  root = mkdtempSync(path.join(tmpdir(), "pw-settings-"));
  mkdirSync(path.join(root, "project/.pi"), { recursive: true });
  mkdirSync(path.join(root, "agent"));
  vi.stubEnv("PI_CODING_AGENT_DIR", path.join(root, "agent"));
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(root, { recursive: true, force: true });
});

const own = (value: unknown) =>
  writeFileSync(path.join(root, "agent/settings.json"), JSON.stringify({ "pi-workflows": value }));
const projects = (text: string) =>
  writeFileSync(path.join(root, "project/.pi/settings.json"), `{ "pi-workflows": ${text} }`);
const read = (trusted = true) => readSettings(path.join(root, "project"), trusted);

describe("settings", () => {
  it("ask before the model acts, and show all, where nothing is said", () => {
    expect(read()).toEqual(DEFAULTS);
    expect(DEFAULTS).toMatchObject({
      applyWithoutConfirmation: false,
      widget: true,
      statusLine: true,
    });
  });

  it("are the user's, then the project's", () => {
    own({ widget: false, statusLine: false });
    projects('{ "statusLine": true, "applyWithoutConfirmation": true }');
    expect(read()).toMatchObject({
      widget: false,
      statusLine: true,
      applyWithoutConfirmation: true,
      answerWithoutConfirmation: false,
    });
  });

  it("of a project that is not trusted do not count", () => {
    projects('{ "applyWithoutConfirmation": true }');
    expect(read(false).applyWithoutConfirmation).toBe(false);
  });

  it.for([
    ["[]", /must be an object/],
    ['{ "widgets": true }', /widgets is not known; there is statusLine, widget/],
    ['{ "widget": "no" }', /widget must be true or false/],
  ] as const)("%s is refused with the file and the reason", ([text, reason]) => {
    projects(text);
    expect(() => read()).toThrow(
      expect.objectContaining({ code: "INVALID_CONFIG", message: expect.stringMatching(reason) }),
    );
    expect(() => read()).toThrow(/project\/\.pi\/settings\.json/);
  });

  it("are Pi's to complain about where they are no JSON", () => {
    projects("{");
    expect(read()).toEqual(DEFAULTS);
  });

  it("that lift confirmations are not the user's, whose projects are many", () => {
    own({ applyWithoutConfirmation: true });
    expect(() => read()).toThrow(/is for \.pi\/settings\.json of a project/);
  });
});

describe("the Node that runs the server", () => {
  const compiled = { execPath: "/opt/pi/pi", compiled: true };

  it("is Pi's own where Pi runs on one, else the one on PATH", () => {
    const folder = path.dirname(process.execPath);
    const node = path.join(folder, "node");
    expect(candidates({ PATH: folder }, { execPath: "/x/node", compiled: false })).toEqual([
      "/x/node",
      node,
    ]);
    expect(candidates({ PATH: `.:${folder}:/nowhere` }, compiled)).toEqual([node]);
    expect(candidates({ PATH: "/nowhere" }, compiled)).toEqual([]);
  });

  it("may be named", () => {
    expect(candidates({ PI_WORKFLOWS_NODE: "/y/node", PATH: "" }, compiled)).toEqual(["/y/node"]);
  });
});
