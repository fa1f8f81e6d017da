/**
 * Where a property of an object literal stands in `text`: the literal is the first argument of the
 * call at `call`, and `path` leads into it. The offset of the deepest property that is found; undefined
 * where the first is not. Reads no more of the language than
 * is needed for that, and is only ever used to tell a place.
 */
export function locateProperty(
  text: string,
  call: number,
  path: readonly string[],
): number | undefined {
  const opening = /[\w$.]+\s*\(\s*\{/y;
  opening.lastIndex = call;
  if (!opening.test(text)) return undefined;
  let inside: number | undefined = opening.lastIndex;
  let located: Property | undefined;
  for (const name of path) {
    const property: Property | undefined =
      inside === undefined ? undefined : findProperty(text, inside, name);
    if (property === undefined) break;
    located = property;
    inside = property.inside;
  }
  return located?.offset;
}

type Property = {
  offset: number;
  /** After the brace of its value, where that is an object literal. */
  inside: number | undefined;
};

const KEY = /(?:([A-Za-z_$][\w$]*)|"((?:[^"\\\n]|\\.)*)"|'((?:[^'\\\n]|\\.)*)')/y;
const VALUE = /\s*:\s*(\{)?/y;

/** Finds a property of the literal whose inside begins at `start`. */
function findProperty(text: string, start: number, name: string): Property | undefined {
  let depth = 0;
  let isKey = true;
  for (let at = start; at < text.length;) {
    const next = skip(text, at);
    if (isKey && depth === 0 && !/[\s/]/.test(text[at] as string)) {
      isKey = false;
      KEY.lastIndex = at;
      const [key, ...names] = KEY.exec(text) ?? [];
      if (key !== undefined && names.includes(name)) {
        VALUE.lastIndex = at + key.length;
        const isObject = VALUE.exec(text)?.[1] !== undefined;
        return { offset: at, inside: isObject ? VALUE.lastIndex : undefined };
      }
    }
    if (next === at + 1) {
      const character = text[at] as string;
      if ("([{".includes(character)) depth += 1;
      else if (")]}".includes(character)) depth -= 1;
      else if (character === "," && depth === 0) isKey = true;
      if (depth < 0) return undefined;
    }
    at = next;
  }
  return undefined;
}

// Comments, texts, templates without templates in them, and regular expressions, where a division
// can't stand: in none of them does a brace count.
const WHOLE =
  /\/\/[^\n]*|\/\*[^]*?\*\/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\[^])*`|(?<=[(,=:[!&|?{};]\s*)\/(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//y;

/** What comes after the character, comment or text at `at`. */
function skip(text: string, at: number): number {
  WHOLE.lastIndex = at;
  return WHOLE.test(text) ? WHOLE.lastIndex : at + 1;
}
