import { expect, test } from "vitest";
import { literal, plain, plural, shown, tail, utf16 } from "../../src/sanitize";

test("control, bidirectional and invisible characters become visible", () => {
  expect(plain("a\u001b[31m\u202eb\u200bc\u{e0041}")).toBe("a\\u{1b}[31m\\u{202e}b\\u{200b}c\\u{e0041}");
});

test("line ends and tabs become blanks, and length is capped by characters", () => {
  expect(plain("one\r\ntwo\tthree")).toBe("one two three");
  expect(plain("🎉".repeat(20), 5)).toBe("🎉🎉🎉🎉…");
});

test("emoji, CJK and combining marks stay as they are", () => {
  const text = "✅ 図書館 café e\u0301";
  expect(plain(text)).toBe(text);
});

test("icons and links of VS Code are not drawn from a file's text", () => {
  expect(literal("$(trash) [ok](command:evil)")).not.toMatch(/\$\(|\]\(/);
});

test("a column in code points is found in UTF-16", () => {
  expect(utf16("🎉🎉x", 3)).toBe(4);
  expect(utf16("abc", 1)).toBe(0);
  expect(utf16("abc", 99)).toBe(3);
});

test("values are shown as JSON, and none as nothing", () => {
  expect(shown({ ok: false })).toBe('{"ok":false}');
  expect(shown(undefined)).toBe("nothing");
});

test("a path's last segment, and counts with their word", () => {
  expect(tail("a/b/c/")).toBe("c");
  expect([plural(1, "task"), plural(2, "task")]).toEqual(["1 task", "2 tasks"]);
});
