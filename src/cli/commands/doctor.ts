import { printable } from "../../model/text.ts";
import { examine, type Finding } from "../../server/doctor.ts";
import { columns } from "../columns.ts";
import type { Output } from "../output.ts";
import type { Documents } from "../schemas/documents.ts";
import type { Action } from "../verb.ts";

type Options = { quiet?: boolean };

const FOUND = 1;

export const run: Action<Options> = async (cli, { quiet = false }) => {
  const diagnosis = await examine(cli.home);
  const findings = diagnosis.findings.filter(({ level }) => !quiet || level !== "ok");
  cli.output.result({ ...diagnosis, findings } satisfies Documents["doctor"], () =>
    [...(findings.length > 0 ? [table(cli.output, findings)] : []), verdict(findings)].join("\n"),
  );
  return diagnosis.ok ? 0 : FOUND;
};

function table({ colors }: Output, findings: readonly Finding[]): string {
  const paint = { ok: colors.green, warning: colors.yellow, problem: colors.red };
  return columns(
    findings.flatMap(({ check, level, message, hint }) => [
      [paint[level](level), check, printable(message)],
      ...(hint === undefined ? [] : [["", "", printable(hint)]]),
    ]),
  );
}

function verdict(findings: readonly Finding[]): string {
  const count = (level: Finding["level"]): number =>
    findings.filter((finding) => finding.level === level).length;
  const [problems, warnings] = [count("problem"), count("warning")];
  if (problems + warnings === 0) return "all is well";
  return `${problems} ${problems === 1 ? "problem" : "problems"}, ${warnings} ${warnings === 1 ? "warning" : "warnings"}`;
}
