import { defineResource } from "@osolmaz/pi-workflows/resource-managers";
import greeting from "../resource-managers/greeting.resource-manager.ts";

// One resource for each of them; your editor checks the spec against the manager's.
export default ["Ada", "Grace"].map((name) =>
  defineResource(greeting, {
    key: `hello-${name.toLowerCase()}`,
    labels: { group: "people" },
    spec: { file: `hello-${name.toLowerCase()}.txt`, text: `Hello, ${name}` },
  }),
);
