import type { z } from "zod";
import type { Json } from "../../model/canonical.ts";

/** A type with its intersections resolved; whatever holds all of JSON is JSON. */
type Plain<T> = Json extends T
  ? Json
  : T extends string | number | boolean | null | undefined
    ? T
    : T extends readonly (infer Item)[]
      ? Plain<Item>[]
      : { [Name in keyof T]: Plain<T[Name]> };

type IsSame<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

/**
 * Returns a schema as it is; where it is not of exactly the model's type, be it by one optional
 * member, the call does not compile. So the published schemas follow the types that commands print.
 */
export function exactly<Model>() {
  return <Schema extends z.ZodType>(
    schema: Schema &
      (IsSame<Plain<z.output<Schema>>, Plain<Model>> extends true ? unknown : { differsFrom: Model }),
  ): Schema => schema;
}
