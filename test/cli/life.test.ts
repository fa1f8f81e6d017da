import { existsSync } from "node:fs";
import path from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { buildCommandLine, makeWorkspace } from "./command-line.ts";

beforeAll(buildCommandLine);

describe("the example of init, from an empty folder", () => {
  const workspace = makeWorkspace();
  const { ok, run } = workspace;

  it("is written by init, which then refuses to overwrite it", async () => {
    const text = await ok(["init"]);
    expect(text).toContain("created  .pi/resource-managers/greeting.resource-manager.ts");
    expect(text).toContain("pi-workflows apply -f .pi/resources --wait");
    const again = await run(["init"]);
    expect(again.code).toBe(2);
    expect(again.stderr).toContain("nothing was written");
  });

  it("is shown by diff, and by nothing else, before it is applied", async () => {
    const text = await ok(["diff", "-f", ".pi/resources"], { code: 1 });
    expect(text).toMatch(/\+ create {2}greeting hello /);
    expect(text).toContain("3 to create");
    expect(existsSync(path.join(workspace.project, "hello.txt"))).toBe(false);
  });

  it("is made so by apply --wait, which starts the server", async () => {
    const text = await ok(["apply", "-f", ".pi/resources", "--wait", "--timeout", "30s"]);
    expect(text).toMatch(/created {2}greeting hello {8}generation 1\n/);
    expect(text).toContain("3 created");
    expect(text).toContain("3 of 3 ready");
    expect(workspace.read("hello.txt")).toBe("Hello, world\n");
    expect(workspace.read("hello-ada.txt")).toBe("Hello, Ada\n");
  });

  it("A-1: leaves nothing for diff to show", async () => {
    expect(await ok(["diff", "-f", ".pi/resources"])).toContain("3 unchanged");
  });

  it("is listed by get", async () => {
    const text = await ok(["get", "greeting", "hello"]);
    expect(text).toMatch(/^MANAGER {3}KEY {4}READY {2}STATUS {3}GENERATION {2}AGE\n/);
    expect(text).toMatch(/^greeting {2}hello {2}True {3}Written {2}1 /m);
    expect(await ok(["get", "-o", "name"])).toBe(
      "greeting/hello\ngreeting/hello-ada\ngreeting/hello-grace\n",
    );
    expect(await ok(["get", "-l", "group=people", "-o", "name"])).toBe(
      "greeting/hello-ada\ngreeting/hello-grace\n",
    );
  });

  it("is explained by why, from the file to the condition", async () => {
    const text = await ok(["why", "greeting", "hello"]);
    const links = [
      "spec        .pi/resources/hello.resource.json:",
      "generation  generation 1 was stored for apply set default, by `apply -f",
      "queue       taken from the queue, because of a changed spec",
      "pass        settled in",
      "effect      write:1:0 (write-file) applied in",
      "condition   Ready became True",
    ];
    const places = links.map((link) => text.indexOf(link));
    expect(places).not.toContain(-1);
    expect([...places].sort((a, b) => a - b)).toEqual(places);
    expect(text).toMatch(/Now: The next pass begins in \d+s, because of its manager's schedule\./);
  });

  it("is changed by an edit and another apply, and history shows what the edit was", async () => {
    const spec = workspace.read(".pi/resources/hello.resource.json");
    workspace.write(".pi/resources/hello.resource.json", spec.replace("world", "universe"));
    expect(await ok(["diff", "-f", ".pi/resources", "-o", "fields"], { code: 1 })).toContain(
      'spec.text: "Hello, world" → "Hello, universe"',
    );
    expect(await ok(["apply", "-f", ".pi/resources", "--wait"])).toContain(
      "1 updated, 2 unchanged",
    );
    expect(workspace.read("hello.txt")).toBe("Hello, universe\n");
    const text = await ok(["history", "greeting", "hello", "--diff"]);
    expect(text).toContain('    spec.text\n      - "Hello, world"\n      + "Hello, universe"\n');
  });

  it("is deleted with its file, and its events stay", async () => {
    const held = await run(["delete", "greeting", "hello"]);
    expect(held).toMatchObject({ code: 3 });
    expect(held.stderr).toContain("error[NEEDS_CONFIRMATION]");
    const gone = await run(["delete", "greeting", "hello", "--yes", "--wait"]);
    expect(gone.stdout).toBe("greeting hello is gone\n");
    expect(gone.stderr).toContain(".pi/resources/hello.resource.json still stands");
    expect(existsSync(path.join(workspace.project, "hello.txt"))).toBe(false);
    expect((await run(["get", "greeting", "hello"])).stderr).toContain(
      "greeting hello was deleted just now",
    );
  });
});
