import { expect, test, vi } from "vitest";

type Change = (event: { affectsConfiguration: (name: string) => boolean }) => void;

const editor = vi.hoisted((): { setting: string; change: Change } => ({ setting: "all", change: () => undefined }));
vi.mock("vscode", () => ({
  DiagnosticSeverity: { Error: 0, Warning: 1, Information: 2, Hint: 3 },
  workspace: {
    getConfiguration: () => ({ get: () => editor.setting }),
    onDidChangeConfiguration: (act: Change) => ((editor.change = act), { dispose: () => undefined }),
  },
}));

const { ProblemFilter, shownProblems } = await import("../../src/server/problems");
const found = [0, 1, 2, 3].map((severity) => ({ severity })) as never[];
const severities = (setting: string) => shownProblems(found, setting).map(({ severity }) => severity);

test.each([
  ["all", [0, 1, 2, 3]],
  ["warnings", [0, 1]],
  ["errors", [0]],
  ["none", []],
  ["something new", [0, 1, 2, 3]],
])("with the setting %s the severities %o are problems", (setting, shown) => {
  expect(severities(setting)).toEqual(shown);
});

test("a change of the setting shows at once what it lets through of what is there", () => {
  const filter = new ProblemFilter();
  const shown: number[] = [];
  filter.handle({ toString: () => "file:///a" } as never, found, (_, diagnostics) => shown.push(diagnostics.length));
  editor.setting = "errors";
  editor.change({ affectsConfiguration: () => true });
  editor.change({ affectsConfiguration: () => false });
  expect(shown).toEqual([4, 1]);
});
