import {
  conditionFalse,
  conditionTrue,
  conditionUnknown,
  type ConditionInput,
} from "@osolmaz/pi-workflows/resource-managers";
import type { Finding } from "./decide.ts";
import { short, type Observation } from "./observation.ts";

/** The conditions of a pull request that was judged and is not merged yet. */
export function conditionsOf(seen: Observation, findings: readonly Finding[]): ConditionInput[] {
  const at = `at ${short(seen.pull.headSha)}`;
  const first = (about: Finding["about"]) => findings.find((finding) => finding.about === about);
  const incomplete = first("Observed");
  const blocked = first("Blocked");
  const holds = (
    type: "HeadMatches" | "ChecksPassing" | "Approved" | "Mergeable",
    reason: string,
  ) => {
    const found = first(type);
    if (!found) return conditionTrue(type, reason, at);
    return found.reason === "MergeabilityUnknown"
      ? conditionUnknown(type, found.reason, `${at}: ${found.message}`)
      : conditionFalse(type, found.reason, `${at}: ${found.message}`);
  };
  return [
    incomplete
      ? conditionUnknown("Observed", incomplete.reason, `${at}: ${incomplete.message}`)
      : conditionTrue("Observed", "Read", `${at} by ${seen.source}`),
    holds("HeadMatches", "AsExpected"),
    holds("ChecksPassing", "Passed"),
    holds("Approved", "Approved"),
    holds("Mergeable", "Clean"),
    blocked
      ? conditionTrue("Blocked", blocked.reason, `${at}: ${blocked.message}`)
      : conditionFalse("Blocked", "NothingInTheWay", at),
    conditionFalse("Merged", "Open", at),
    conditionFalse("Held", "NotHeld", at),
  ];
}

/** Ready for a pull request that waits: why, and everything else that it waits for. */
export function notReady(seen: Observation, findings: readonly Finding[]): ConditionInput {
  const [first] = findings;
  const words = [...new Set(findings.map(({ message }) => message))].join("; ");
  return conditionFalse(
    "Ready",
    first?.reason ?? "Unknown",
    `at ${short(seen.pull.headSha)}: ${words}`,
  );
}

/** The conditions of a pull request that can't be looked at. */
export function unobserved(
  reason: "NoAccess" | "RepositoryMoved" | "RateLimited" | "Unreadable",
  message: string,
): ConditionInput[] {
  const lasting = reason === "NoAccess" || reason === "RepositoryMoved";
  return [
    lasting
      ? conditionFalse("Observed", reason, message)
      : conditionUnknown("Observed", reason, message),
    ...(lasting ? [conditionTrue("Blocked", reason, message)] : []),
    conditionFalse("Ready", reason, message),
  ];
}
