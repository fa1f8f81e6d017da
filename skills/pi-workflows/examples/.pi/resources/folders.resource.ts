import { defineResource } from "@osolmaz/pi-workflows/resource-managers";
import folderSize from "../resource-managers/folder-size.resource-manager.ts";

export default ["notes", "drafts"].map((folder) =>
  defineResource(folderSize, { key: folder, spec: { folder, maxBytes: 100_000 } }),
);
