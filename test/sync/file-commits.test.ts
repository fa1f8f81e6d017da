import { expect, it } from "vitest";
import { newestCommits } from "../../src/server/sync/file-commits.ts";
import { findRepository, type Repository } from "../../src/sources/git/repository.ts";
import { specFile, widget, widgetRepository } from "./syncing.ts";

it.each([
  ["separators", "a\u0001b\u0002c\u0001"],
  ["an object's name", `${"1".repeat(40)} x`],
  ["colours and a bell", "\u001B[31mred\u0007"],
])("a commit's message with %s is not taken for another commit (A-13)", async (_, subject) => {
  const repo = widgetRepository();
  const names = ["a", "\nb", "c\n\u0001d"].map(specFile);
  for (const name of names) repo.write(name, widget(name, { size: 1 }));
  const id = repo.commit(subject);
  for (const name of names) repo.write(name, widget(name, { size: 2 }));
  const newest = repo.commit(`${subject} again`);
  const repository = (await findRepository(repo.folder)) as Repository;
  for (const [commits, commit, told] of [
    ["HEAD", newest, `${subject} again`],
    ["HEAD~1", id, subject],
  ] as const) {
    const found = await newestCommits(repository, names, { commits, what: "changed" });
    for (const name of names) {
      expect(found.get(name)).toMatchObject({ id: commit, subject: told });
    }
  }
});
