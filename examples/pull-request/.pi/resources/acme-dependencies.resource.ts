import { defineResource } from "@osolmaz/pi-workflows/resource-managers";
import { pullRequest } from "../resource-managers/pull-request/declare.ts";

/** Updates of dependencies: merged as they become green, in working hours, whatever their head. */
const updates = [101, 102, 105];

export default updates.map((number) =>
  defineResource(pullRequest, {
    key: `acme/widgets#${number}`,
    spec: {
      repository: "acme/widgets",
      number,
      baseRef: "main",
      merge: { title: "{{title}} (#{{number}})", body: "{{body}}" },
      require: { labels: ["dependencies"], checks: { minWait: "2m" } },
      update: { mode: "whenBehind" },
      freeze: {
        label: "freeze",
        windows: [
          { from: "17:00", to: "09:00", timeZone: "Europe/Berlin" },
          { days: ["sat", "sun"], from: "00:00", to: "23:59", timeZone: "Europe/Berlin" },
        ],
      },
      report: "comment",
    },
  }),
);
