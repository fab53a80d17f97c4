import { expect, test } from "vitest";
import { baseName, escapeLabel, formatValue, oneLine, plural, utf16Offset } from "../../src/sanitize";

test("control, bidirectional and invisible characters become visible", () => {
  expect(oneLine("a\u001b[31m\u202eb\u200bc\u{e0041}")).toBe("a\\u{1b}[31m\\u{202e}b\\u{200b}c\\u{e0041}");
});

test("line ends and tabs become blanks, and length is capped by characters", () => {
  expect(oneLine("one\r\ntwo\tthree")).toBe("one two three");
  expect(oneLine("🎉".repeat(20), 5)).toBe("🎉🎉🎉🎉…");
});

test("emoji, CJK and combining marks stay as they are", () => {
  const text = "✅ 図書館 café e\u0301";
  expect(oneLine(text)).toBe(text);
});

test("icons and links of VS Code are not drawn from a file's text", () => {
  expect(escapeLabel("$(trash) [ok](command:evil)")).not.toMatch(/\$\(|\]\(/);
});

test("a column in code points is found in UTF-16", () => {
  expect(utf16Offset("🎉🎉x", 3)).toBe(4);
  expect(utf16Offset("abc", 1)).toBe(0);
  expect(utf16Offset("abc", 99)).toBe(3);
});

test("values are shown as JSON, and none as nothing", () => {
  expect(formatValue({ ok: false })).toBe('{"ok":false}');
  expect(formatValue(undefined)).toBe("nothing");
});

test("a path's last segment, and counts with their word", () => {
  expect(baseName("a/b/c/")).toBe("c");
  expect([plural(1, "task"), plural(2, "task")]).toEqual(["1 task", "2 tasks"]);
});
