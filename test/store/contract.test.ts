import { describeStore } from "./contract.ts";
import { ReferenceStore } from "./reference.ts";
import { sqliteStore } from "./support.ts";

describeStore("SQLite", (clock) => sqliteStore({ clock }).store);
describeStore("the reference model", (clock) => new ReferenceStore(clock));
