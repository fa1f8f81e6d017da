import type { Benchmark } from "./harness.ts";
import { p1, p2 } from "./p1-noop-pass.ts";
import { p3 } from "./p3-fsyncs.ts";
import { p4 } from "./p4-wake.ts";
import { p8 } from "./p8-diff-json.ts";
import { p9 } from "./p9-diff-typescript.ts";
import { p10 } from "./p10-start.ts";
import { peers } from "./peers.ts";
import { p11 } from "./p11-first-apply.ts";

/** Every benchmark, in the order of the goals. */
export const BENCHMARKS: Benchmark[] = [p1, p2, p3, p4, p8, p9, p10, p11, peers];
