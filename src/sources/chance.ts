import { createRequire, syncBuiltinESMExports } from "node:module";
import type * as cryptoModule from "node:crypto";
import { swapProperty } from "./swap-property.ts";

/**
 * The clocks and random sources of this process, as project code sees them. What spec files return
 * must not depend on them, or it would be another spec each time it is loaded.
 */
export type Chance = {
  /** Begins to note what is asked for. In the second world everything that is asked is another. */
  begin(world: "first" | "second"): void;
  end(): void;
  /** What was asked for since the last call, with the stack of the first times. */
  take(): Asked[];
  /** Puts the process back as it was. */
  release(): void;
};

/** A clock or random source that was asked; `stack` is empty for all but the first. */
export type Asked = { source: string; stack: string };

// Every part of a date is another one: year, month, day, day of the week, and so on.
const SHIFT_MS = (400 * 24 + 1) * 3_600_000 + 61_001;
const NOTED = 20;

/** The state that all replacements share. */
class Setting implements Chance {
  #world: "first" | "second" | undefined;
  #asked: Asked[] = [];
  #seed = 0;
  readonly #restore: (() => void)[] = [];

  begin(world: "first" | "second"): void {
    this.#world = world;
    this.#seed = 0x9e3779b9;
  }

  end(): void {
    this.#world = undefined;
  }

  take(): Asked[] {
    const asked = this.#asked;
    this.#asked = [];
    return asked;
  }

  release(): void {
    this.end();
    for (const restore of this.#restore.splice(0)) restore();
    syncBuiltinESMExports();
  }

  /**
   * Has a function be `altered` while project code runs, and what it was otherwise. `path` is how
   * people call it, and ends in its name.
   */
  replace(target: object, path: string, altered: unknown): void {
    const name = path.slice(path.lastIndexOf(".") + 1);
    const original = Reflect.get(target, name) as (...args: unknown[]) => unknown;
    const either = (...args: unknown[]): unknown => {
      if (this.#world === undefined) return original.apply(target, args);
      this.note(path);
      return (altered as (...args: unknown[]) => unknown)(...args);
    };
    this.#restore.push(swapProperty(target, name, Object.assign(either, original)));
  }

  /** Has `target[name]` be `value`, until the end. */
  put(target: object, name: string, value: unknown): void {
    this.#restore.push(swapProperty(target, name, value));
  }

  note(source: string): void {
    if (this.#asked.length >= NOTED) return;
    this.#asked.push({ source, stack: new Error(source).stack ?? "" });
  }

  get isActive(): boolean {
    return this.#world !== undefined;
  }

  get shiftMs(): number {
    return this.#world === "second" ? SHIFT_MS : 0;
  }

  /** 32 bits; in the second world each bit is the other one, so that no choice comes out equal. */
  bits(): number {
    // Mulberry32: small, and evenly spread.
    this.#seed = (this.#seed + 0x6d2b79f5) | 0;
    let bits = Math.imul(this.#seed ^ (this.#seed >>> 15), 1 | this.#seed);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    bits = (bits ^ (bits >>> 14)) >>> 0;
    return this.#world === "second" ? ~bits >>> 0 : bits;
  }
}

/** Replaces the clocks and random sources of this process. Only one at a time. */
export function alterChance(): Chance {
  const setting = new Setting();
  replaceDate(setting);
  replaceClocks(setting);
  replaceRandomness(setting);
  syncBuiltinESMExports();
  return setting;
}

function replaceDate(setting: Setting): void {
  const real = Date;
  const now = (source: string): number => {
    if (setting.isActive) setting.note(source);
    return real.now() + setting.shiftMs;
  };
  const altered: DateConstructor = new Proxy(real, {
    construct: (target, args, newTarget) =>
      Reflect.construct(
        target,
        args.length === 0 ? [now("new Date()")] : args,
        newTarget === altered ? target : newTarget,
      ) as object,
    apply: () => new real(now("Date()")).toString(),
    get: (target, name) =>
      name === "now" ? () => now("Date.now") : (Reflect.get(target, name) as unknown),
  });
  setting.put(globalThis, "Date", altered);
  setting.put(real.prototype, "constructor", altered);
}

function replaceClocks(setting: Setting): void {
  const { hrtime } = process;
  const sinceOrigin = performance.now.bind(performance);
  const uptime = process.uptime.bind(process);
  setting.replace(performance, "performance.now", () => sinceOrigin() + setting.shiftMs);
  setting.replace(process, "process.uptime", () => uptime() + setting.shiftMs / 1_000);
  const bigint = () => hrtime.bigint() + BigInt(setting.shiftMs) * 1_000_000n;
  setting.replace(process, "process.hrtime", (earlier?: [number, number]) => {
    const nanoseconds = bigint();
    const since = earlier ? BigInt(earlier[0]) * 1_000_000_000n + BigInt(earlier[1]) : 0n;
    const passed = nanoseconds - since;
    return [Number(passed / 1_000_000_000n), Number(passed % 1_000_000_000n)];
  });
  setting.replace(process.hrtime, "process.hrtime.bigint", bigint);
}

type Callback = (error: null, value: unknown) => void;
type Fillable = ArrayBufferView | ArrayBufferLike;

function replaceRandomness(setting: Setting): void {
  const crypto = createRequire(import.meta.url)("node:crypto") as typeof cryptoModule;
  const fill = <T extends Fillable>(target: T, offset = 0, size?: number): T => {
    const bytes = bytesOf(target, offset, size);
    for (let index = 0; index < bytes.length; index += 1) bytes[index] = setting.bits() & 0xff;
    return target;
  };
  const uuid = (): string => {
    const hex = Buffer.from(fill(new Uint8Array(16))).toString("hex");
    const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`];
    return [...parts, `a${hex.slice(17, 20)}`, hex.slice(20)].join("-");
  };
  setting.replace(Math, "Math.random", () => setting.bits() / 2 ** 32);
  setting.replace(crypto, "crypto.randomUUID", uuid);
  setting.replace(crypto, "crypto.randomBytes", (size: number, callback?: Callback) =>
    answer(fill(Buffer.alloc(size)), callback),
  );
  setting.replace(crypto, "crypto.randomFillSync", fill);
  setting.replace(crypto, "crypto.randomFill", (target: Fillable, ...rest: unknown[]) => {
    const [offset, size] = rest.filter((value) => typeof value === "number");
    return answer(fill(target, offset, size), rest.at(-1) as Callback);
  });
  setting.replace(crypto, "crypto.randomInt", (...args: unknown[]) => {
    const [first = 0, second] = args.filter((value) => typeof value === "number");
    const [from, to] = second === undefined ? [0, first] : [first, second];
    const callback = args.find((value) => typeof value === "function") as Callback | undefined;
    return answer(from + Math.floor((setting.bits() / 2 ** 32) * (to - from)), callback);
  });
  const { webcrypto } = crypto;
  setting.replace(webcrypto, "crypto.randomUUID", uuid);
  setting.replace(webcrypto, "crypto.getRandomValues", (target: ArrayBufferView) => fill(target));
}

function bytesOf(target: Fillable, offset: number, size: number | undefined): Uint8Array {
  const whole = ArrayBuffer.isView(target)
    ? new Uint8Array(target.buffer, target.byteOffset, target.byteLength)
    : new Uint8Array(target);
  const unit = "BYTES_PER_ELEMENT" in target ? Number(target.BYTES_PER_ELEMENT) : 1;
  return whole.subarray(offset * unit, size === undefined ? undefined : (offset + size) * unit);
}

function answer<T>(value: T, callback: Callback | undefined): T | undefined {
  if (typeof callback !== "function") return value;
  process.nextTick(callback, null, value);
  return undefined;
}
