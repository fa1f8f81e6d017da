import { expect, it } from "vitest";
import { splitEnvironment } from "../../../src/server/runs/credentials.ts";

it("what only models need goes to agents alone; what is named in pi.env too", () => {
  const env = {
    PATH: "/bin",
    GITHUB_TOKEN: "g",
    ANTHROPIC_API_KEY: "a",
    OPENAI_API_KEY: "o",
    MY_PROXY_KEY: "m",
  };
  expect(splitEnvironment(env, ["MY_PROXY_KEY", "ABSENT"])).toEqual({
    runners: { PATH: "/bin", GITHUB_TOKEN: "g" },
    credentials: { ANTHROPIC_API_KEY: "a", OPENAI_API_KEY: "o", MY_PROXY_KEY: "m" },
  });
  expect(splitEnvironment(env).runners).toHaveProperty("MY_PROXY_KEY", "m");
});
