import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  dueAt,
  firstTempo,
  hinted,
  pass,
  scanBegins,
  type ScanEnd,
  scanEnds,
  TEMPO,
  type Tempo,
} from "../../../src/sources/working-tree/tempo.ts";

const CALM: ScanEnd = {
  costMs: 1,
  doubtUntil: undefined,
  isDeaf: false,
  isUnsure: false,
  isHeld: false,
};
/** A work tree that was scanned at 0 and is quiet. */
const resting = (): Tempo => scanEnds(scanBegins(firstTempo(0)), 0, CALM).tempo;

describe("A scan is due", () => {
  it("at once at the start", () => {
    expect(dueAt(firstTempo(7))).toBe(7);
  });

  it("after a quiet period, and in a stream of hints after the longest one", () => {
    let tempo = hinted(resting(), 100);
    expect(dueAt(tempo)).toBe(100 + TEMPO.quietMs);
    for (let now = 150; now <= 1_000; now += 50) tempo = hinted(tempo, now);
    expect(dueAt(tempo)).toBe(100 + TEMPO.longestMs);
  });

  it("not while one is under way, and once more for all hints meanwhile", () => {
    let tempo = scanBegins(hinted(resting(), 100));
    for (const now of [200, 210, 220]) tempo = hinted(tempo, now);
    expect(dueAt(tempo)).toBe(Infinity);
    const { tempo: after, isTaken } = scanEnds(tempo, 230, CALM);
    expect(isTaken).toBe(false);
    expect(dueAt(after)).toBe(220 + TEMPO.quietMs);
    const again = scanEnds(scanBegins(after), 300, CALM);
    expect(again.isTaken).toBe(true);
    expect(dueAt(again.tempo)).toBe(300 + TEMPO.sweepMs);
  });

  it("for a sweep: more seldom the more it costs, sooner where events are missing", () => {
    const next = (end: Partial<ScanEnd>) =>
      dueAt(scanEnds(scanBegins(resting()), 0, { ...CALM, ...end }).tempo);
    expect(next({})).toBe(5_000);
    expect(next({ costMs: 40 })).toBe(20_000);
    expect(next({ costMs: 9_999 })).toBe(60_000);
    expect(next({ isDeaf: true })).toBe(2_000);
    expect(next({ isUnsure: true })).toBe(2_000);
    expect(next({ isDeaf: true, costMs: 40 })).toBe(4_000);
  });

  it("when a doubt can be settled; what never settles is taken after a while", () => {
    let tempo = resting();
    const taken: number[] = [];
    for (let now = 0; now <= 3_000; now += 200) {
      const end = scanEnds(scanBegins(tempo), now, { ...CALM, doubtUntil: now + 200 });
      tempo = end.tempo;
      expect(dueAt(tempo)).toBe(now + 200);
      if (end.isTaken) taken.push(now);
    }
    expect(taken).toEqual([2_000]);
  });
});

describe("An operation of git", () => {
  it("holds scans; a lock only until it is as old as those that dead commands leave", () => {
    let tempo = resting();
    const openAt = (kind: string, until: number): number | undefined => {
      for (let now = 0; now <= until;) {
        const gate = pass(tempo, now, { kind });
        tempo = gate.tempo;
        if (gate.isOpen) return now;
        expect(gate.lookAgainAt).toBeGreaterThan(now);
        expect(gate.lookAgainAt - now).toBeLessThanOrEqual(1_000);
        now = gate.lookAgainAt;
      }
      return undefined;
    };
    expect(openAt("rebase", 100_000)).toBeUndefined();
    tempo = pass(tempo, 100_000, undefined).tempo;
    expect(tempo.held).toBeUndefined();
    const open = openAt("lock", 100_000);
    expect(open).toBeGreaterThanOrEqual(TEMPO.lockBoundMs);
    expect(open).toBeLessThan(TEMPO.lockBoundMs + 1_000);
  });

  it("that began during a scan makes it worthless", () => {
    const end = scanEnds(scanBegins(resting()), 50, { ...CALM, isHeld: true });
    expect(end.isTaken).toBe(false);
    expect(dueAt(end.tempo)).toBe(50);
  });
});

it("Whatever happens when: one scan at a time, none taken that was disturbed, and every hint is followed by a scan", () => {
  const event = fc.record({ at: fc.integer({ min: 1, max: 5_000 }), git: fc.boolean() });
  fc.assert(
    fc.property(
      fc.array(event, { maxLength: 60 }),
      fc.integer({ min: 1, max: 90 }),
      (events, costMs) => {
        const hints = events.filter(({ git }) => !git).map(({ at }) => at);
        const locks = events.filter(({ git }) => git).map(({ at }) => at);
        const isLocked = (now: number) => locks.some((at) => now >= at && now < at + 80);
        const scans: { from: number; to: number; isTaken: boolean }[] = [];
        let tempo = firstTempo(0);
        let from = 0;
        for (let now = 0; now < 9_000; now += 1) {
          for (const at of hints) if (at === now) tempo = hinted(tempo, now);
          if (tempo.isScanning && now === from + costMs) {
            const end = scanEnds(tempo, now, { ...CALM, costMs, isHeld: isLocked(now) });
            tempo = end.tempo;
            scans.push({ from, to: now, isTaken: end.isTaken });
          }
          if (dueAt(tempo) > now) continue;
          expect(tempo.isScanning).toBe(false);
          const gate = pass(tempo, now, isLocked(now) ? { kind: "lock" } : undefined);
          tempo = gate.tempo;
          if (!gate.isOpen) continue;
          tempo = scanBegins(tempo);
          from = now;
        }
        const within = ({ from: begin, to }: { from: number; to: number }, at: number) =>
          at > begin && at <= to;
        let refusedFrom: number | undefined;
        for (const scan of scans) {
          const isDisturbed = hints.some((at) => within(scan, at));
          refusedFrom ??= scan.to;
          if (scan.isTaken && isDisturbed) {
            expect(scan.to - refusedFrom).toBeGreaterThanOrEqual(TEMPO.refuseMs);
          }
          if (scan.isTaken) refusedFrom = undefined;
          if (scan.isTaken) expect(isLocked(scan.to)).toBe(false);
        }
        for (const at of hints) {
          expect(scans.some((scan) => scan.from >= at && scan.isTaken)).toBe(true);
        }
      },
    ),
    { numRuns: 100 },
  );
});
