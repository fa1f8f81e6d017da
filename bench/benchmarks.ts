import { c1, c2 } from "./c1-recovery.ts";
import type { Benchmark } from "./harness.ts";
import { m1 } from "./m1-memory.ts";
import { m2 } from "./m2-runner-memory.ts";
import { m3 } from "./m3-idle.ts";
import { m4 } from "./m4-size.ts";
import { m5 } from "./m5-blocks.ts";
import { p1, p2 } from "./p1-noop-pass.ts";
import { p3 } from "./p3-fsyncs.ts";
import { p4 } from "./p4-wake.ts";
import { p5 } from "./p5-queue-size.ts";
import { p6 } from "./p6-apply.ts";
import { p7 } from "./p7-unchanged.ts";
import { p8 } from "./p8-diff-json.ts";
import { p9 } from "./p9-diff-typescript.ts";
import { p10 } from "./p10-start.ts";
import { p11 } from "./p11-first-apply.ts";
import { peers } from "./peers.ts";
import { s1 } from "./s1-commit.ts";
import { s2 } from "./s2-save.ts";
import { s3Unchanged } from "./s3-unchanged.ts";
import { s3, s4 } from "./s3-work-tree.ts";
import { s4Checkout } from "./s4-checkout.ts";
import { s5 } from "./s5-settled.ts";
import { w1 } from "./w1-nodes.ts";

/** Every benchmark, in the order of the goals. */
export const BENCHMARKS: Benchmark[] = [
  p1,
  p2,
  p3,
  p4,
  p5,
  p6,
  p7,
  p8,
  p9,
  p10,
  p11,
  s1,
  s2,
  s3,
  s3Unchanged,
  s4,
  s4Checkout,
  s5,
  w1,
  m1,
  m2,
  m3,
  m4,
  m5,
  c1,
  c2,
  peers,
];
