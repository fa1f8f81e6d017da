import { z } from "zod";

/**
 * What workflows hand to this manager. They are other people's code, and agents write part of it:
 * everything here is checked again, by code that no agent wrote, before anything follows from it.
 */
const path = z.string().min(1).max(1_024);

/** One thing that a review found. */
export const reviewFinding = z.object({
  path,
  line: z.number().int().positive().optional(),
  /** `blocking` keeps the pull request from being merged; `advice` is told and no more. */
  severity: z.enum(["blocking", "advice"]),
  message: z.string().min(1).max(2_000),
});

export const reviewResult = z.object({
  headSha: z.string(),
  summary: z.string().max(4_000),
  findings: z.array(reviewFinding).max(100),
});

/** One file as a repair leaves it: its content in base64, or null where it is deleted. */
export const fileChange = z.object({
  path,
  content: z
    .base64()
    .max(512 * 1024)
    .nullable(),
});

export const repairResult = z.object({
  headSha: z.string(),
  summary: z.string().max(4_000),
  /** The project's own tests, as the workflow ran them on exactly these changes. */
  tests: z.object({ passed: z.boolean(), command: z.array(z.string()) }),
  changes: z.array(fileChange).max(100),
  /** Files whose mode or kind changed, which a repair may not do. */
  refused: z.array(path).max(100).default([]),
});

/**
 * What both workflows are given. It follows from the generation and the head alone, like the request
 * key: another input under one key is an error.
 */
export const workInput = z.object({
  repository: z.string(),
  number: z.number().int(),
  headSha: z.string(),
  baseRef: z.string(),
  apiUrl: z.string(),
  /** What git fetches from: a URL or a path. */
  remote: z.string(),
  /** A folder of the resource's own, which its finalizer removes. */
  workspace: z.string(),
  /** What the spec adds. */
  extra: z.record(z.string(), z.json()),
});
export const repairInput = workInput.extend({
  /** The project's own tests. */
  test: z.array(z.string()).min(1),
});

export type ReviewResult = z.output<typeof reviewResult>;
export type RepairResult = z.output<typeof repairResult>;
export type WorkInput = z.output<typeof workInput>;
export type RepairInput = z.output<typeof repairInput>;
