const FOLDERS = ["alpha", "beta", "gamma", "delta"];

/** What commits do and do not do to the store: a move, a checkout, a mistake, a large deletion. */
export async function showGitOps(stage) {
  stage.say("7. A spec file is renamed: the resource stays the same one");
  stage.git(
    "mv",
    ".pi/resources/faster-widgets.resource.json",
    ".pi/resources/widgets.resource.json",
  );
  stage.commit("Rename a spec file");
  stage.run(["sync", "now"]);
  stage.run(["get", "-o", "wide"]);

  stage.say("8. Another branch is checked out, without any spec: nothing changes");
  stage.git("checkout", "--quiet", "-b", "experiment");
  stage.git("rm", "--quiet", "-r", ".pi/resources");
  stage.commit("No specs on this branch");
  stage.run(["sync", "now"]);
  stage.run(["get"]);
  stage.git("checkout", "--quiet", "main");

  stage.say("9. A broken file is committed: its last good spec stays in force");
  const broken =
    '{\n  "resourceManager": "folder",\n  "key": "alpha",\n  "spec": { "path": 7 }\n}\n';
  stage.write("folders.resource.json", broken);
  stage.commit("A mistake");
  stage.run(["sync", "now"], { exits: [1] });

  stage.say("10. It is mended, with four resources; then all four are deleted at once");
  const folders = FOLDERS.map((key) => ({
    resourceManager: "folder",
    key,
    spec: { path: stage.scratch(key) },
  }));
  stage.write("folders.resource.json", `${JSON.stringify(folders, null, 2)}\n`);
  stage.commit("Four folders");
  stage.run(["sync", "now"]);
  stage.run(["wait", "folder", "delta", "--timeout", "30s"]);
  stage.git("rm", "--quiet", ".pi/resources/folders.resource.json");
  stage.commit("Remove four folders");
  stage.run(["sync", "now"], { exits: [3] });

  stage.say("11. A deletion of that size waits for its confirmation, of exactly this set");
  const [{ report }] = stage.read(["sync", "status"], { exits: [3] }).syncs;
  stage.run(["sync", "confirm-prune", report.pendingPrune.hash.slice(0, 12)]);
  stage.run(["wait", "folder", "delta", "--for", "deleted", "--timeout", "30s"]);
  stage.run(["get"]);
}
