import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Graph } from "../../src/model/graph.ts";
import { widthOf } from "../../src/model/text.ts";
import { compile } from "../../src/workflows/compile.ts";
import { drawMermaid } from "../../src/workflows/draw-mermaid.ts";
import { drawText } from "../../src/workflows/draw-text.ts";
import {
  action,
  agent,
  checkpoint,
  compute,
  decision,
  defineWorkflow,
  end,
  includeWorkflow,
  loop,
  parallel,
  shell,
} from "../../src/workflows/index.ts";

const fields = { input: z.unknown(), output: z.unknown() };
const nothing = () => null;
const step = () => compute({ run: nothing });
const repeatable = () => shell({ command: ["true"], safety: "idempotent" });

const three = compile(
  defineWorkflow({
    ...fields,
    name: "three",
    startAt: "fetch",
    nodes: {
      fetch: action({ safety: "idempotent", run: nothing, retry: { times: 3 } }),
      tests: shell({ command: ["npm", "test"], timeout: "5m" }),
      report: step(),
    },
    edges: {
      fetch: "tests",
      tests: { next: "report", failure: end("failed") },
      report: end("done"),
    },
    exits: { done: nothing, failed: nothing },
  }),
).graph;

const lint = defineWorkflow({
  ...fields,
  name: "lint-files",
  startAt: "list",
  nodes: {
    list: step(),
    lint: repeatable(),
    ok: decision({ choices: ["yes", "no"], choose: () => "yes" }),
  },
  edges: { list: "lint", lint: "ok", ok: { yes: end("clean"), no: end("dirty") } },
  exits: { clean: nothing, dirty: nothing },
});

const review = defineWorkflow({
  ...fields,
  name: "review-changes",
  startAt: "read",
  nodes: {
    read: agent({ prompt: "?", output: z.string(), model: "large" }),
    sum: step(),
    fixStyle: action({ safety: "manual", run: nothing }),
  },
  includes: { lint: includeWorkflow(lint, { input: nothing }) },
  edges: {
    read: "lint",
    lint: { clean: "sum", dirty: "fixStyle" },
    fixStyle: loop("lint", { max: 2, exhausted: "sum" }),
    sum: end("done"),
  },
  exits: { done: nothing },
});

const release = compile(
  defineWorkflow({
    ...fields,
    name: "release",
    startAt: "checkout",
    nodes: {
      checkout: action({ safety: "idempotent", run: nothing, compensate: () => undefined }),
      fork: step(),
      unit: repeatable(),
      browser: shell({ command: ["true"], title: "浏览器测试 in Chrome and Firefox" }),
      flaky: decision({ choices: ["flaky", "real"], prompt: "?" }),
      docs: step(),
      gather: step(),
      good: decision({ choices: ["good", "bad", "unsure"], choose: () => "good" }),
      fix: agent({ prompt: "?", output: z.unknown(), tools: ["edit"] }),
      check: repeatable(),
      ask: checkpoint({ message: "?", answer: z.unknown() }),
      answered: decision({ choices: ["go", "stop"], choose: () => "go" }),
      publish: action({ safety: "manual", run: nothing }),
      announce: step(),
      apologise: step(),
    },
    includes: { review: includeWorkflow(review, { input: nothing }) },
    edges: {
      checkout: "fork",
      fork: parallel(["unit", "browser", "review"], { join: "gather" }),
      unit: "docs",
      docs: "gather",
      browser: { next: "gather", failure: "flaky" },
      flaky: { flaky: loop("browser", { max: 2, exhausted: "gather" }), real: "gather" },
      review: "gather",
      gather: "good",
      good: { good: "publish", bad: "fix", unsure: "ask" },
      fix: "check",
      check: loop("fork", { max: 1, exhausted: "apologise" }),
      ask: "answered",
      answered: { go: "publish", stop: end("stopped") },
      publish: { next: "announce", failure: "apologise" },
      announce: end("done"),
      apologise: end("failed"),
    },
    exits: { done: nothing, stopped: nothing, failed: nothing },
  }),
).graph;

/** A node of the graph with another title. */
function titled(graph: Graph, path: string, title: string): Graph {
  const node = graph.nodes[path] as Graph["nodes"][string];
  return { ...graph, nodes: { ...graph.nodes, [path]: { ...node, title } } };
}

describe("a graph drawn for a terminal", () => {
  it("shows three nodes below each other", () => {
    expect(drawText(three, { width: 80 })).toMatchInlineSnapshot(`
      "three

      ● fetch  action, idempotent, 3 retries
      │
      ● tests  shell, manual, within 5m
      ├─ on failure → end failed
      │
      ● report → end done  compute"
    `);
  });

  it("shows branches, joins, loops and nested includes of many nodes", () => {
    expect(drawText(release, { width: 80 })).toMatchInlineSnapshot(`
      "release

      ● checkout  action, idempotent, can be undone
      │
      ● fork  compute
      ╠═ ● unit  shell, idempotent
      ║  │
      ║  ● docs → gather  compute
      ╠═ ● browser → gather  shell, manual, "浏览器测试 in Chrome and Firefox"
      ║  ╰─ on failure
      ║     ◆ flaky  decision
      ║     ├─ flaky ↺ browser, at most 2 times, then → gather
      ║     ╰─ real → gather
      ╠═ ▣ review → gather  includes review-changes
      ║     ● read  agent, idempotent, large
      ║     │
      ║     ▣ lint  includes lint-files
      ║     │  ● list  compute
      ║     │  │
      ║     │  ● lint  shell, idempotent
      ║     │  │
      ║     │  ◆ ok  decision
      ║     │  ├─ yes → end clean
      ║     │  ╰─ no → end dirty
      ║     ├─ clean → sum
      ║     ├─ dirty
      ║     │  ● fixStyle ↺ lint, at most 2 times, then → sum  action, manual
      ║     │
      ║     ● sum → end done  compute
      ║
      ● gather  compute
      │
      ◆ good  decision
      ├─ good → publish
      ├─ bad
      │  ● fix  agent, manual
      │  │
      │  ● check ↺ fork, at most once, then → apologise  shell, idempotent
      ├─ unsure
      │  ◉ ask  checkpoint
      │  │
      │  ◆ answered  decision
      │  ├─ go → publish
      │  ╰─ stop → end stopped
      │
      ● publish  action, manual
      ├─ on failure → apologise
      │
      ● announce → end done  compute

      ● apologise → end failed  compute"
    `);
  });

  it("stays within the width, also where characters are wide", () => {
    const widths = Array.from({ length: 90 }, (_, index) => index + 1);
    const tooWide = widths.flatMap((width) =>
      drawText(release, { width })
        .split("\n")
        .filter((line) => widthOf(line) > width || line !== line.trimEnd()),
    );
    expect(tooWide).toEqual([]);
    const cut = drawText(release, { width: 52 }).split("\n");
    expect(cut.find((line) => line.includes("browser →"))).toBe(
      '╠═ ● browser → gather  shell, manual, "浏览器测试 i…',
    );
  });

  it("is coloured where that is asked for, and the same without the colours", () => {
    const plain = drawText(release, { width: 60 });
    const coloured = drawText(release, { width: 60, color: true });
    expect(coloured).toContain("\u001b[1mcheckout\u001b[22m");
    expect(coloured.replaceAll(/\u001b\[\d+m/g, "")).toBe(plain);
    expect(plain).not.toContain("\u001b");
  });

  it("spells what a terminal might obey", () => {
    const drawn = drawText(titled(three, "fetch", "\u001b[2Jgone\nnext"), { width: 200 });
    expect(drawn).not.toContain("\u001b");
    expect(drawn.split("\n")).toHaveLength(drawText(three, { width: 200 }).split("\n").length);
  });

  it("takes a chain of thousands of nodes", () => {
    const names = Array.from({ length: 10_000 }, (_, index) => `n${index}`);
    const graph: Graph = {
      workflow: "long",
      startAt: "n0",
      nodes: Object.fromEntries(names.map((name) => [name, { kind: "compute", safety: "pure" }])),
      edges: Object.fromEntries(
        names.map((name, index) => [name, { next: { to: names[index + 1] ?? "end:done" } }]),
      ),
    };
    expect(drawText(graph, { width: 80 }).split("\n")).toHaveLength(2 * 10_000 + 1);
  });
});

describe("a graph as a Mermaid diagram", () => {
  it("draws each kind of node and edge, and boxes around what is included", () => {
    expect(drawMermaid(release)).toMatchInlineSnapshot(`
      "flowchart TD
        start(( )) --> n0
        n0["checkout"]
        n1["fork"]
        n2[["unit"]]
        n3[["browser: 浏览器测试 in Chrome and Firefox"]]
        n4{"flaky"}
        n5["docs"]
        n6["gather"]
        n7{"good"}
        n8{{"fix"}}
        n9[["check"]]
        n10[/"ask"/]
        n11{"answered"}
        n12["publish"]
        n13["announce"]
        n14["apologise"]
        subgraph n15s["review-changes"]
          n15(["review"])
          n16{{"read"}}
          n17["sum"]
          n18["fixStyle"]
          subgraph n19s["lint-files"]
            n19(["lint"])
            n20["list"]
            n21[["lint"]]
            n22{"ok"}
            n23(["clean"])
            n24(["dirty"])
          end
          n25(["done"])
        end
        n26(["done"])
        n27(["stopped"])
        n28(["failed"])
        n0 --> n1
        n1 ==> n2
        n1 ==> n3
        n1 ==> n15
        n2 --> n5
        n3 --> n6
        n3 -->|"on failure"| n4
        n4 -.->|"flaky, at most 2 times"| n3
        n4 -->|"flaky, then"| n6
        n4 -->|"real"| n6
        n5 --> n6
        n6 --> n7
        n7 -->|"good"| n12
        n7 -->|"bad"| n8
        n7 -->|"unsure"| n10
        n8 --> n9
        n9 -.->|"at most 1 times"| n1
        n9 -->|"then"| n14
        n10 --> n11
        n11 -->|"go"| n12
        n11 -->|"stop"| n27
        n12 --> n13
        n12 -->|"on failure"| n14
        n13 --> n26
        n14 --> n28
        n15 --> n16
        n16 --> n19
        n17 --> n25
        n18 -.->|"at most 2 times"| n19
        n18 -->|"then"| n17
        n19 --> n20
        n20 --> n21
        n21 --> n22
        n22 -->|"yes"| n23
        n22 -->|"no"| n24
        n23 --> n17
        n24 --> n18
        n25 --> n6"
    `);
  });

  it("spells what Mermaid might take for markup", () => {
    const drawn = drawMermaid(
      titled(three, "fetch", 'a "b" <i> & `c` [d] {e} (f) |g|\nsubgraph #x;'),
    );
    expect(drawn.split("\n")[2]).toBe(
      '  n0["fetch: a #34;b#34; #60;i#62; #38; #96;c#96; #91;d#93; #123;e#125; #40;f#41; #124;g#124; subgraph #35;x;"]',
    );
  });
});
