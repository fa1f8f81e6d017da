import { Alignment } from "./columns.ts";
import type { Cli } from "./invocation.ts";
import type { Colors } from "./output.ts";
import { createScreen } from "./screen.ts";

/** One step of a watch: `removed` where the item is gone or no longer matches. */
export type Change<Item> = { kind: "present" | "removed"; item: Item };
export type Step<Item> = Change<Item> | { kind: "listed" };

/** How the items of a watch are shown. */
export type ListView<Item> = {
  identityOf: (item: Item) => string;
  /** Negative where `left` stands before `right`. */
  order: (left: Item, right: Item) => number;
  heading: () => string[];
  row: (item: Item) => string[];
  table: (items: readonly Item[]) => string;
  /** What is shown where there are none. */
  nothing: string;
  /** What `-o json` prints of a change. */
  record: (change: Change<Item>) => unknown;
  /** What `-o name` prints of one. */
  name?: (item: Item) => string;
};

/**
 * Shows items as they change until Ctrl-C: on a terminal as a table that is redrawn in place, else as
 * lines, each change when it comes.
 */
export async function watchList<Item>(
  cli: Cli,
  steps: AsyncIterable<Step<Item>>,
  view: ListView<Item>,
): Promise<void> {
  const print = printerOf(cli, view);
  let listing: Change<Item>[] | undefined = [];
  for await (const step of steps) {
    if (step.kind === "listed") {
      print(listing ?? []);
      listing = undefined;
    } else if (listing) listing.push(step);
    else print([step]);
  }
}

type Printer<Item> = (changes: readonly Change<Item>[]) => void;

function printerOf<Item>({ output }: Cli, view: ListView<Item>): Printer<Item> {
  if (output.format === "json") {
    return (changes) => changes.forEach((change) => output.record(view.record(change)));
  }
  const { name } = view;
  if (output.format === "name" && name) {
    return (changes) => changes.forEach(({ item }) => output.line(name(item)));
  }
  return output.width === undefined
    ? linesPrinter(output, view)
    : tablePrinter(createScreen(output), view);
}

function tablePrinter<Item>(
  screen: ReturnType<typeof createScreen>,
  view: ListView<Item>,
): Printer<Item> {
  const present = new Map<string, Item>();
  return (changes) => {
    for (const { kind, item } of changes) {
      if (kind === "present") present.set(view.identityOf(item), item);
      else present.delete(view.identityOf(item));
    }
    const items = [...present.values()].sort(view.order);
    screen.show(items.length === 0 ? view.nothing : view.table(items));
  };
}

function linesPrinter<Item>(
  output: { line: (text: string) => void; colors: Colors },
  view: ListView<Item>,
): Printer<Item> {
  const alignment = new Alignment();
  let hasHeading = false;
  return (changes) => {
    const rows = changes.map(({ kind, item }) =>
      kind === "removed" ? [...view.row(item), output.colors.red("removed")] : view.row(item),
    );
    for (const row of rows) alignment.fit(row);
    if (!hasHeading) output.line(alignment.line(view.heading().map(output.colors.bold)));
    hasHeading = true;
    for (const row of rows) output.line(alignment.line(row));
  };
}
