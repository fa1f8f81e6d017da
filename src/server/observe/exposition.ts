/** Writes metrics in the text format of Prometheus (prometheus.io, "Exposition formats", 0.0.4). */

export type Labels = Readonly<Record<string, string>>;
type Kind = "counter" | "gauge" | "histogram";

/** One number for each set of labels. */
export class Series {
  readonly name: string;
  readonly #help: string;
  readonly #kind: Kind;
  readonly #values = new Map<string, number>();

  constructor(kind: Exclude<Kind, "histogram">, name: string, help: string) {
    this.#kind = kind;
    this.name = name;
    this.#help = help;
  }

  add(labels: Labels, value = 1): void {
    const key = labelText(labels);
    this.#values.set(key, (this.#values.get(key) ?? 0) + value);
  }

  set(labels: Labels, value: number): void {
    this.#values.set(labelText(labels), value);
  }

  /** Forgets all of it: for what is read anew at each scrape. */
  clear(): void {
    this.#values.clear();
  }

  text(): string {
    const lines = [...this.#values].map(([labels, value]) => sample(this.name, labels, value));
    return header(this.name, this.#kind, this.#help) + lines.join("");
  }
}

type Distribution = { counts: number[]; sum: number; count: number };

/** How values are distributed over buckets, for each set of labels. */
export class Histogram {
  readonly name: string;
  readonly #help: string;
  readonly #bounds: readonly number[];
  readonly #values = new Map<string, Distribution>();

  constructor(name: string, help: string, bounds: readonly number[]) {
    this.name = name;
    this.#help = help;
    this.#bounds = bounds;
  }

  observe(labels: Labels, value: number): void {
    const key = labelText(labels);
    let found = this.#values.get(key);
    if (!found) {
      found = { counts: this.#bounds.map(() => 0), sum: 0, count: 0 };
      this.#values.set(key, found);
    }
    found.sum += value;
    found.count += 1;
    const bucket = this.#bounds.findIndex((bound) => value <= bound);
    if (bucket >= 0) found.counts[bucket] = (found.counts[bucket] ?? 0) + 1;
  }

  text(): string {
    const lines = [...this.#values].flatMap(([labels, { counts, sum, count }]) => {
      let below = 0;
      const buckets = this.#bounds.map((bound, index) => {
        below += counts[index] ?? 0;
        return sample(`${this.name}_bucket`, withBound(labels, number(bound)), below);
      });
      return [
        ...buckets,
        sample(`${this.name}_bucket`, withBound(labels, "+Inf"), count),
        sample(`${this.name}_sum`, labels, sum),
        sample(`${this.name}_count`, labels, count),
      ];
    });
    return header(this.name, "histogram", this.#help) + lines.join("");
  }
}

function header(name: string, kind: Kind, help: string): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${kind}\n`;
}

function sample(name: string, labels: string, value: number): string {
  return `${name}${labels === "" ? "" : `{${labels}}`} ${number(value)}\n`;
}

function withBound(labels: string, bound: string): string {
  return `${labels === "" ? "" : `${labels},`}le="${bound}"`;
}

function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(",");
}

function escaped(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return String(value);
}
