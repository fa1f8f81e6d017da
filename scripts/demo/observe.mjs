/** Observes a pull request on GitHub with the user's own token, and writes nothing to it. */
export async function observe(stage, name, baseRef) {
  const match = /^([\w.-]+\/[\w.-]+)#(\d+)$/.exec(name);
  if (!match) throw new Error(`--github takes OWNER/REPO#N, not ${name}`);
  const [, repository, number] = match;

  stage.say(`A spec that observes ${name}, and writes nothing (dryRun)`);
  stage.commitSpec("observed.resource.json", {
    resourceManager: "pull-request",
    key: name,
    spec: { repository, number: Number(number), baseRef, dryRun: true },
  });
  stage.run(["diff", "-f", ".pi/resources"], { exits: [1] });
  stage.run(["apply", "-f", ".pi/resources"]);
  // Observed or not (no token, no such pull request), the status says which.
  await stage.until(name, undefined);
  stage.run(["describe", "pull-request", name]);
  stage.run(["why", "pull-request", name]);
}
