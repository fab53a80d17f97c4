/**
 * The files of the scenarios: the examples, a run that stands before its third failure, a plan that nobody approved,
 * a run whose review has no code to look at, and a second folder.
 */

import fs from "node:fs/promises";
import path from "node:path";

const TASKS = ".orchestrator/tasks";
export const REPORT = "14-4b-phase-2.md";

const fixed = (file) => `## Task Complete (Fix Mode)\n\n**Task File**: ${file}\n**Status**: Complete\n`;
const failed = (round) => `## Phase Quality Gate: FAIL

**Phase**: 2 (Tasks 03-06)
**Iteration**: ${round} of 3
**Overall Status**: FAIL

| Task | Criterion | Status | Evidence |
|---|---|---|---|
| 03 | A shared link works without an account | FAIL | \`test_share_link\`: still 401 |

### Fix Scope

Only tasks [03] require fixes.
`;
const ANALYSIS = `## Failure Analysis

**Phase**: 2
**Failed Gate**: 4b
**Iteration**: 2 of 3

### Root Cause

- Task 03: the token is read after the session.
`;

/** What the person writes: the third failure in a row. */
export const FAILURE = failed(3);

const PLAN = `# Reservations - Master Plan

**Objective**: Members reserve a book that is lent out.
**Status**: [ ] Not Started
**Total Tasks**: 2

## Progress Summary

| Phase | Status | Tasks | Effort | Notes |
|---|---|---|---|---|
| Phase 1: Queue | [ ] | 0/2 | 3h | |

## Phase 1: Queue (3h)

| Order | Task ID | File | Description | Type | Status |
|---|---|---|---|---|---|
| 1 | reservations-01 | \`01-queue.md\` | A queue for each book | impl | [ ] |
| 2 | reservations-02 | \`02-phase-1-tests.md\` | Tests of the queue | **test** | [ ] |

**Progress**: 1/2 tasks complete (50%)
`;
const task = (number, title, after) => `# ${number}. ${title}

## Meta

- **ID**: reservations-${number}
- **Feature**: reservations
- **Phase**: 1
- **Depends On**: [${after}]
- **Requires UX/DX Review**: false

## Files to Change

| File | Action | Changes |
|---|---|---|
| \`lending/queue_${number}.py\` | create | ${title} |

## Acceptance Criteria

- [ ] ${title}
`;

/** Write them into the examples. Times are an hour apart, so that the order of the reports is beyond doubt. */
export async function prepare(folder) {
  const reports = path.join(folder, TASKS, "reading-lists/reports");
  const written = {
    "09-F2-task-03.md": fixed("03-share-link.md"),
    "10-F2-task-04.md": fixed("04-export.md"),
    "11-4b-phase-2.md": failed(2),
    "12-F1-phase-2.md": ANALYSIS,
    "13-F2-task-03.md": fixed("03-share-link.md"),
    [REPORT]: "# Notes\n",
  };
  for (const [name, text] of Object.entries(written)) await fs.writeFile(path.join(reports, name), text);
  const names = (await fs.readdir(reports)).sort();
  const start = Date.now() / 1000 - names.length * 3600;
  for (const [at, name] of names.entries())
    await fs.utimes(path.join(reports, name), start + at * 3600, start + at * 3600);
  await renewals(path.join(folder, ".ai-tools-chain/tasks/renewals"));
  await writePlan(folder, "reservations", "Reservations");
}

/** A plan that nobody has approved; the folder of its run. */
export async function writePlan(folder, name, title) {
  const plan = path.join(folder, TASKS, name);
  const named = (text) => text.replaceAll("reservations", name).replaceAll("Reservations", title);
  await fs.mkdir(plan);
  await fs.writeFile(path.join(plan, "MASTER_PLAN.md"), named(PLAN));
  await fs.writeFile(path.join(plan, "01-queue.md"), named(task("01", "A queue for each book", "")));
  await fs.writeFile(
    path.join(plan, "02-phase-1-tests.md"),
    named(task("02", "Tests of the queue", "reservations-01")),
  );
  return plan;
}

/** A task that says it is being reviewed, and has no code. */
async function renewals(folder) {
  const files = {
    "state.json": { task_id: "renewals", title: "Renew a loan", phase: "code_review" },
    "planning/planning.ai.json": { id: "renewals" },
    "review/plan-review.json": { ok: true, issues: [] },
  };
  for (const [name, content] of Object.entries(files))
    await put(path.join(folder, name), `${JSON.stringify(content)}\n`);
}

/** A folder of its own with one task whose plan was refused; with the first one in one window when its workspace is opened. */
export async function second(folder, first) {
  const task = path.join(folder, ".ai-tools-chain/tasks/opening-hours");
  await put(
    path.join(task, "state.json"),
    '{"task_id": "opening-hours", "title": "Show the opening hours", "phase": "plan_review"}\n',
  );
  await put(path.join(task, "planning/planning.ai.json"), '{"id": "opening-hours"}\n');
  await put(
    path.join(task, "review/plan-review.json"),
    '{"ok": false, "issues": [{"severity": "high", "title": "no time zone"}]}\n',
  );
  const workspace = path.join(path.dirname(folder), "both.code-workspace");
  await put(workspace, JSON.stringify({ folders: [{ path: first }, { path: folder }] }));
  return workspace;
}

const WORKFLOW = `workflow: build
title: Build until the tests pass
runs: {at: [runs/*], marker: {file: state.json, has: [phase]}}
state: {file: state.json}
phase: state.phase
phases:
  code: {title: Write the code, rules: [{when: "checks.tests.result == 'passed'", to: ship, because: the tests pass}]}
  ship: {title: Ship it, terminal: complete}
gates:
  tested:
    title: The tests pass
    after: code
    criteria: [{text: the check tests has passed, when: "checks.tests.result == 'passed'"}]
`;
const CHECKS = "checks:\n  tests: {run: [sh, tests/run.sh], inputs: [src/**, tests/**]}\n";
/** The source whose test passes; the other one fails. */
export const HOURS = "OPEN = 9\n";
export const WRONG_HOURS = "OPEN = 10\n";

/** A run whose gate rests on a check that nobody has allowed. */
export async function checked(folder) {
  await put(path.join(folder, "src/hours.py"), HOURS);
  await put(path.join(folder, "tests/run.sh"), "echo the hours are looked at\ngrep -q 'OPEN = 9' src/hours.py\n");
  await fs.appendFile(path.join(folder, ".phasekeeper/config.yaml"), CHECKS);
  await put(path.join(folder, ".phasekeeper/workflows/build.yaml"), WORKFLOW);
  await put(path.join(folder, "runs/hours/state.json"), '{"phase": "code", "title": "Open at nine"}\n');
}

const LOAN = "export const dueAfter = (day) => day + 21\n";
const LOAN_TEST = `import assert from "node:assert/strict";
import test from "node:test";
import { dueAfter } from "../src/loan.mjs";

test("a book is due after three weeks", () => assert.equal(dueAfter(1), 22));
`;
const MEASURED = `checks:
  tests:
    run: [node, --test, --test-reporter=junit, --test-reporter-destination=build/junit.xml, tests/loan.test.mjs]
    inputs: [src/**, tests/**]
    reports: {junit: build/junit.xml}
parameters:
  artifact-pipeline: {test_checks: [tests]}
`;

/** A folder of its own with one task, which awaits its tests: what passes them is a check that runs them, allowed by nobody yet. */
export async function measured(folder) {
  const added = LOAN_TEST.trimEnd().split("\n");
  const task = {
    "state.json": '{"task_id": "loan", "title": "Lend for three weeks", "phase": "test"}\n',
    "planning/planning.ai.json": '{"id": "loan"}\n',
    "review/plan-review.json": '{"ok": true, "issues": []}\n',
    "code/files/tests/loan.test.mjs": LOAN_TEST,
    "code/diff.patch": `--- /dev/null\n+++ b/tests/loan.test.mjs\n@@ -0,0 +1,${added.length} @@\n+${added.join("\n+")}\n`,
    // Last, since a review is stale that is older than the code.
    "review/code-review.json": '{"ok": true, "blocking_issues": []}\n',
  };
  await put(path.join(folder, "src/loan.mjs"), LOAN);
  await put(path.join(folder, "tests/loan.test.mjs"), LOAN_TEST);
  await put(path.join(folder, ".phasekeeper/config.yaml"), MEASURED);
  for (const [name, text] of Object.entries(task))
    await put(path.join(folder, ".ai-tools-chain/tasks/loan", name), text);
}

async function put(file, text) {
  await fs.mkdir(path.dirname(file), { recursive: true });
  await fs.writeFile(file, text);
}

export const journal = (folder, run) => path.join(folder, TASKS, run, ".phasekeeper/journal.jsonl");

/** The conventions with an example: what the row of its run says, and what its next step. */
export const CONVENTIONS = [
  ["agent-os", "reading-room", "Do the tasks"],
  ["backlog", "Library", "Do what is ready"],
  ["beads", "issues", "Work on what is ready"],
  ["bmad", "Town library", "Develop the stories"],
  ["kiro", "reading-groups", "Do the tasks"],
  ["openspec", "add-shelf-map", "Do the tasks"],
  ["plan-file", "Moving the library", "Do the tasks"],
  ["spec-kit", "Overdue notices", "Implement"],
  ["spec-workflow", "opening-hours", "Do the tasks"],
  ["task-master", "master", "Do the tasks"],
];

/** A repository that holds the example of a convention and nothing else. */
export async function convention(folder, name) {
  const examples = path.join(import.meta.dirname, "../../../examples/conventions");
  await fs.cp(path.join(examples, name), folder, { recursive: true });
  await fs.mkdir(path.join(folder, ".git"));
  return folder;
}
