import { startGitHub } from "../../test/github/stand-in.mjs";
import { showGitOps } from "./gitops.mjs";
import { installPi, showRepair } from "./repair.mjs";

const SPECS = ".pi/resources";

/** A committed spec becomes a merged pull request; another is stopped by a moved head. */
export async function shepherd(stage) {
  await installPi(stage);
  stage.say("1. A stand-in for GitHub, with a pull request that is not ready to be merged");
  const github = await startGitHub();
  stage.onClose(() => github.close());
  const repository = await github.seeds.repository({ name: "widgets" });
  const pull = await github.seeds.pull(repository, { title: "Faster widgets" });
  stage.note(`${github.url}  ${repository}#${pull.number}, head ${pull.headSha.slice(0, 12)}`);

  stage.say("2. A spec file says what should become true; it is committed");
  const key = `${repository}#${pull.number}`;
  stage.commitSpec("faster-widgets.resource.json", specOf(github, pull, key));

  stage.say("3. What would happen, and then: keep it so. From here on, commits are all it takes");
  stage.run(["diff", "-f", SPECS, "-R"], { exits: [1] });
  stage.run(["sync", "enable"]);

  stage.say("4. Pass by pass, while checks and a review come in");
  const stopFollowing = stage.follow(key);
  await stage.until(key, "MissingApprovals");
  await github.seeds.review(pull, "bob");
  stage.note("bob approves on GitHub");
  await stage.until(key, "WaitingForChecks");
  await github.seeds.check(repository, pull.headSha, { name: "ci" });
  stage.note("the check `ci` passes on GitHub");
  await stage.until(key, "Merged");
  await stopFollowing();
  stage.run(["get"]);
  stage.run(["why", "pull-request", key]);
  stage.run(["effects"]);
  const merges = github.writes.filter((write) => write.pathname.endsWith("/merge"));
  stage.note(`merge calls that reached GitHub: ${merges.length}`);

  await showMovedHead(stage, github, repository);
  await showRepair(stage, github, repository);
  await showGitOps(stage);
}

async function showMovedHead(stage, github, repository) {
  stage.say("5. Another pull request; its head is force-pushed before it is merged");
  const pull = await github.seeds.pull(repository, { title: "Slower widgets" });
  const key = `${repository}#${pull.number}`;
  stage.commitSpec("slower-widgets.resource.json", specOf(github, pull, key));
  await stage.until(key, "MissingApprovals");
  const moved = await github.seeds.forcePush(repository, pull.headRef);
  await github.seeds.check(repository, moved, { name: "ci" });
  await github.seeds.review(pull, "bob", "APPROVE", moved);
  stage.note(`the head is now ${moved.slice(0, 12)}, with a green check and an approval`);
  await stage.until(key, "HeadChanged");
  stage.run(["get"]);
  stage.run(["why", "pull-request", key]);
  stage.note("It stays unmerged until a commit changes expectedHeadSha in its spec.");
}

function specOf(github, pull, key) {
  return {
    resourceManager: "pull-request",
    key,
    spec: {
      repository: pull.repository,
      number: pull.number,
      baseRef: pull.baseRef,
      expectedHeadSha: pull.headSha,
      merge: { method: "squash" },
      require: { checks: { names: [{ name: "ci" }] }, approvals: { count: 1 } },
      apiUrl: github.url,
    },
  };
}
