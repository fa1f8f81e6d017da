import fc from "fast-check";
import type { Json } from "../../src/model/canonical.ts";

const names = fc.oneof(fc.constantFrom("a", "b", "id", "name", "key"), fc.string({ maxLength: 4 }));

/** Small JSON values that share member names, so that two of them have something in common. */
export const jsonValue: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.oneof(
      fc.constantFrom<Json>(null, true, false, 0, 1, 1.5, "x", ""),
      fc.string({ maxLength: 4 }),
    ),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(names, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
})).value;

/** Lists of objects with unique names, in any order. */
export const namedItems: fc.Arbitrary<Json> = fc.uniqueArray(
  fc.record({
    name: fc.oneof(
      fc.constantFrom<string | number>("a", "b", "c", "1", 1),
      fc.string({ maxLength: 3 }),
    ),
    value: jsonValue,
  }),
  { selector: ({ name }) => JSON.stringify(name), maxLength: 6 },
) as fc.Arbitrary<Json>;
