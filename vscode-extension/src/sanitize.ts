/** Text of watched files is data: nothing here may draw an icon, start a link or command, or hide characters. */

const LIMIT = 200;
const BREAKS = /\r\n|[\r\n\t]/g;
// Control, format, private and unassigned characters, lone surrogates, Unicode's line separators, and
// letters and marks in which nothing is seen.
const INVISIBLE =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Cs}\u2028\u2029\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\ufe00-\ufe0e]|[\u{e0100}-\u{e01ef}]/gu;

/** `text` on one line of at most `limit` characters, with everything unseen made visible. */
export function oneLine(text: string, limit = LIMIT): string {
  const line = [
    ...text
      .slice(0, 2 * limit + 2)
      .replace(BREAKS, " ")
      .replace(INVISIBLE, escapeCharacter),
  ];
  return line.length <= limit ? line.join("") : `${line.slice(0, limit - 1).join("")}…`;
}

/** `text` as it is, on its lines, with everything unseen made visible; for places that draw text and nothing else. */
export const visibleText = (text: string): string =>
  text
    .replace(/\r\n?/g, "\n")
    .replace(INVISIBLE, (character) =>
      character === "\n" || character === "\t" ? character : escapeCharacter(character),
    );

function escapeCharacter(character: string): string {
  return `\\u{${character.codePointAt(0)!.toString(16)}}`;
}

/**
 * `text` for places that draw `$(name)` as an icon and `[text](address)` as a link: status bar, messages,
 * quick picks. A zero-width space keeps both from being taken for that.
 */
export function escapeLabel(text: string, limit = LIMIT): string {
  return oneLine(text, limit).replaceAll("$(", "$\u200b(").replaceAll("](", "]\u200b(");
}

/** A value as JSON, short. */
export function formatValue(value: unknown, limit = 80): string {
  return oneLine(value === undefined ? "nothing" : JSON.stringify(value), limit);
}

/** The UTF-16 offset of a one-based column that counts code points, in a line of text. */
export function utf16Offset(line: string, column: number): number {
  return [...line].slice(0, Math.max(0, column - 1)).join("").length;
}

export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

export const plural = (count: number, word: string): string => `${count} ${word}${count === 1 ? "" : "s"}`;

/** The last segment of a path with slashes. */
export const baseName = (path: string): string => path.split("/").filter(Boolean).at(-1) ?? path;
