import { short, type Observation, type Review } from "./observation.ts";
import type { PullRequestSpec } from "./spec.ts";

type ApprovalPolicy = PullRequestSpec["require"]["approvals"];

/** What the reviews of a pull request amount to. */
export type ReviewSummary = {
  approvedBy: string[];
  /** Reviewers whose latest opinion asks for changes. */
  changesAskedBy: string[];
  /** What is missing, in words; empty where nothing is. */
  missing: string[];
};

/** Judges the latest opinion of each reviewer. The author's own never counts. */
export function judgeReviews(observation: Observation, policy: ApprovalPolicy): ReviewSummary {
  const others = observation.reviews.filter(({ author }) => author !== observation.pull.author);
  const approvals = others.filter(({ state }) => state === "APPROVED");
  const stale = (review: Review) => policy.onHead && review.sha !== observation.pull.headSha;
  const counted = approvals.filter((review) => !stale(review));
  const missing: string[] = [];
  if (counted.length < policy.count) {
    const old = approvals.filter(stale).map(({ author, sha }) => `${author} at ${short(sha)}`);
    missing.push(
      `${policy.count} ${policy.count === 1 ? "approval" : "approvals"}` +
        `${policy.onHead ? " of this head" : ""} and has ${counted.length}` +
        (old.length === 0 ? "" : ` (older ones: ${old.join(", ")})`),
    );
  }
  if (policy.codeOwners) missing.push(...missingOwners(observation));
  return {
    approvedBy: counted.map(({ author }) => author),
    changesAskedBy: others
      .filter(({ state }) => state === "CHANGES_REQUESTED")
      .map(({ author }) => author),
    missing,
  };
}

function missingOwners({ reviewDecision, codeOwnersAsked }: Observation): string[] {
  if (codeOwnersAsked.length > 0) return [`a review by code owner ${codeOwnersAsked.join(", ")}`];
  switch (reviewDecision) {
    case "APPROVED":
      return [];
    case "unreadable":
      return ["the review decision, which this server shows by GraphQL only"];
    case null:
      return ["a branch rule that asks code owners for reviews"];
    case "CHANGES_REQUESTED":
    case "REVIEW_REQUIRED":
      return ["GitHub's approval (reviews that its rules ask for)"];
  }
}
