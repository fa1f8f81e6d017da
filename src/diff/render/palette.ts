/** Colours as a renderer uses them; the caller decides whether they do anything. */
export type Palette = {
  bold(text: string): string;
  dim(text: string): string;
  red(text: string): string;
  green(text: string): string;
  yellow(text: string): string;
  cyan(text: string): string;
};

const same = (text: string): string => text;

/** No colours: for pipes, files and `NO_COLOR`. */
export const PLAIN: Palette = {
  bold: same,
  dim: same,
  red: same,
  green: same,
  yellow: same,
  cyan: same,
};
