import { createHash } from "node:crypto";
import { EffectRejected, type EffectRequest } from "@osolmaz/pi-workflows/resource-managers";
import { z } from "zod";
import { REPORT_NAME } from "./checks.ts";
import { GitHubFault } from "./fault.ts";
import { short } from "./observation.ts";
import { isRefused, type Pass } from "./pass.ts";
import { checkRunPage } from "./rest.ts";
import type { PullRequestStatus } from "./status.ts";
import { targetOf, type Target } from "./target.ts";

/** What is reported: one state of one head. */
export type Report = { headSha: string; done: boolean; title: string; lines: string[] };

/** Where an earlier report of this resource is: its id, and the mark in it. */
type Found = { id: number; mark: string };
type Place = { pass: Pass; target: Target; report: Report; mark: string; prefix: string };

const commentAnswer = z.object({ id: z.number(), body: z.string() });
const commentPage = z
  .array(commentAnswer)
  .transform((items): { items: z.output<typeof commentAnswer>[] } => ({ items }));
const written = z.object({ id: z.number() });

/**
 * Brings the report that people see up to date: one check run of the head or one comment that is
 * edited, written only when what it says has changed. A report that fails is tried again by a
 * later pass and holds up nothing.
 */
export async function publish(
  pass: Pass,
  report: Report,
): Promise<PullRequestStatus["report"] | undefined> {
  const { spec, status, ctx } = pass;
  if (spec.report === "none" || spec.dryRun) return status.report;
  const digest = digestOf(spec.report, report);
  if (status.report?.digest === digest) return status.report;
  const turn = (status.report?.turn ?? 0) + 1;
  try {
    const { result } = await ctx.effects.ensure(reportEffect(pass, report, turn));
    return { turn, digest: typeof result === "string" ? result : digest };
  } catch (error) {
    if (!isRefused(error)) throw error;
    ctx.log.warn("report not written", { reason: error.message });
    return { turn, digest: "" };
  }
}

function digestOf(kind: string, report: Report): string {
  return createHash("sha256")
    .update(JSON.stringify([kind, report]))
    .digest("hex")
    .slice(0, 16);
}

function reportEffect(pass: Pass, report: Report, turn: number): EffectRequest {
  const { spec, resource } = pass;
  const { uid, generation } = resource.metadata;
  const { repository, number, report: kind } = spec;
  const prefix = `pi-workflows:${uid}:`;
  const digest = digestOf(kind, report);
  const turnMark = `${prefix}${generation}.${turn}:`;
  const place = { pass, target: targetOf(spec), report, mark: `${turnMark}${digest}`, prefix };
  const find = kind === "check" ? findCheck : findComment;
  return {
    key: `report:${generation}:${turn}`,
    kind: `github-${kind}`,
    request: { repository, number, kind, turn },
    observe: async (signal) => {
      const found = await find(place, signal);
      return found?.mark.startsWith(turnMark)
        ? {
            state: "applied",
            externalRef: String(found.id),
            result: found.mark.slice(turnMark.length),
          }
        : { state: "absent" };
    },
    apply: async (signal) => {
      try {
        const found = await find(place, signal);
        const write = kind === "check" ? writeCheck : writeComment;
        const { id } = await write(place, found, signal);
        return { externalRef: String(id), result: digest };
      } catch (error) {
        // Writing the same report again does no harm, so that doubt about one need not hold a pass.
        throw error instanceof GitHubFault ? new EffectRejected(error.message) : error;
      }
    },
  };
}

async function findComment(
  { pass, target, prefix }: Place,
  signal: AbortSignal,
): Promise<Found | undefined> {
  const { owner, repo, number } = target;
  const route = "GET /repos/{owner}/{repo}/issues/{number}/comments";
  const { items } = await pass.client.readAll(route, { owner, repo, number }, commentPage, signal);
  for (const { id, body } of items) {
    const mark = /<!-- (pi-workflows:\S+) -->/.exec(body)?.[1];
    if (mark?.startsWith(prefix)) return { id, mark };
  }
  return undefined;
}

async function writeComment(
  { pass, target, report, mark }: Place,
  found: Found | undefined,
  signal: AbortSignal,
): Promise<{ id: number }> {
  const { owner, repo, number } = target;
  const body = `**${report.title}** (${short(report.headSha)})\n\n${bullets(report)}\n\n<!-- ${mark} -->`;
  const place = { owner, repo, body };
  return found
    ? pass.client.write(
        "PATCH /repos/{owner}/{repo}/issues/comments/{id}",
        { ...place, id: found.id },
        written,
        signal,
      )
    : pass.client.write(
        "POST /repos/{owner}/{repo}/issues/{number}/comments",
        { ...place, number },
        written,
        signal,
      );
}

async function findCheck(
  { pass, target, report, prefix }: Place,
  signal: AbortSignal,
): Promise<Found | undefined> {
  const { owner, repo } = target;
  const route = "GET /repos/{owner}/{repo}/commits/{ref}/check-runs";
  const place = { owner, repo, ref: report.headSha, check_name: REPORT_NAME };
  const { items } = await pass.client.readAll(route, place, checkRunPage, signal);
  const own = items.find(({ external_id: mark }) => mark?.startsWith(prefix));
  return own && { id: own.id, mark: own.external_id ?? "" };
}

async function writeCheck(
  { pass, target, report, mark }: Place,
  found: Found | undefined,
  signal: AbortSignal,
): Promise<{ id: number }> {
  const { owner, repo } = target;
  const body = {
    owner,
    repo,
    name: REPORT_NAME,
    external_id: mark,
    status: "completed",
    conclusion: report.done ? "success" : "neutral",
    output: { title: report.title, summary: bullets(report) },
  };
  return found
    ? pass.client.write(
        "PATCH /repos/{owner}/{repo}/check-runs/{id}",
        { ...body, id: found.id },
        written,
        signal,
      )
    : pass.client.write(
        "POST /repos/{owner}/{repo}/check-runs",
        { ...body, head_sha: report.headSha },
        written,
        signal,
      );
}

function bullets({ lines }: Report): string {
  return lines.length === 0 ? "Nothing." : lines.map((line) => `- ${line}`).join("\n");
}
