/** Values of the protocol for tests, with what a test does not care about filled in. */

import type { Evaluation, Gate, Graph, Phase, Question, Suggestion, Summary, Task } from "../../src/protocol";
import { INITIAL, reduce, type State } from "../../src/store";

export const ROOT = "/work/shop";

export const reportable = (step: string, over: Partial<Suggestion["reports"][number]> = {}) => ({
  step,
  outcomes: ["ok", "error"],
  instructions: "",
  data: null,
  listChanges: "",
  form: null,
  brings: [],
  ...over,
});

export const suggestion = (over: Partial<Suggestion> = {}): Suggestion => ({
  kind: "advance",
  phrase: "Go on to codegen",
  suggestedNext: "codegen",
  action: null,
  agents: ["coder"],
  reason: "the plan review is ok",
  evidence: [],
  allowed: ["codegen"],
  forbidden: [],
  produce: [],
  tasks: [],
  parallel: [],
  reports: [reportable("codegen")],
  waitingFor: null,
  overrideTo: null,
  ...over,
});

export const summary = (over: Partial<Summary> = {}): Summary => ({
  root: ROOT,
  run: "tasks/late-fees",
  title: "Charge a fee",
  workflow: "artifact-pipeline",
  definition: { name: "artifact-pipeline", digest: "d" },
  revision: "r1",
  currentPhase: "planning",
  inferred: false,
  overridden: false,
  status: "active",
  statusReason: "",
  progress: null,
  unknownMarks: 0,
  suggestion: suggestion(),
  questions: [],
  escalations: [],
  limits: [],
  gates: [],
  findingCounts: { error: 0, warning: 0, information: 0 },
  phaseTitle: "Plan the change",
  nextTitle: "Write the code",
  taskTitles: {},
  ...over,
});

export const question = (over: Partial<Question> = {}): Question => ({
  id: "approval",
  kind: "approval",
  question: "Is the plan good?",
  options: [
    { id: "approve", text: "start the work" },
    { id: "revise", text: "plan again: nothing is lost, but it takes its time" },
  ],
  tasks: [],
  history: [],
  since: null,
  ...over,
});

export const phase = (over: Partial<Phase> = {}): Phase => ({
  id: "test",
  title: "",
  agents: [],
  order: 0,
  state: "current",
  produces: [],
  checks: [],
  basis: null,
  reportedBy: [],
  reportedIn: [],
  restsOn: "",
  ...over,
});

export const finding = (over: Partial<Evaluation["findings"][number]> = {}): Evaluation["findings"][number] => ({
  code: "inconsistent-state",
  severity: "error",
  path: "p",
  line: 1,
  column: 1,
  endLine: null,
  endColumn: null,
  message: "no evidence",
  fixes: [],
  overridden: false,
  ...over,
});

export const gate = (over: Partial<Gate> = {}): Gate => ({
  id: "tests",
  after: "test",
  title: "The tests pass",
  status: "failed",
  inForce: true,
  allowed: [],
  forbidden: [],
  criteria: [],
  checks: [],
  basis: null,
  reportedBy: [],
  reportedIn: [],
  restsOn: "",
  ...over,
});

export const task = (over: Partial<Task> = {}): Task => ({
  id: "x-01",
  title: "A model",
  state: "ready",
  blockedBy: [],
  claimedBy: null,
  failedBy: null,
  path: "tasks/x/01-model.md",
  line: 12,
  files: [],
  agent: null,
  ...over,
});

export const evaluation = (over: Partial<Evaluation> = {}): Evaluation => ({
  ...summary(),
  rawPhase: "planning",
  phases: [],
  plan: null,
  claims: [],
  notes: [],
  parameters: {},
  findings: [],
  ...over,
  gates: over.gates ?? [],
});

export const graph = (over: Partial<Graph> = {}): Graph => ({
  phases: ["a", "b", "c", "d"].map((id) => ({ id, title: id, state: "ahead", outcomes: ["ok", "error"] })),
  edges: [],
  gates: [],
  ...over,
});

/** The state once a board with these runs has come. */
export function stateWith(runs: readonly Summary[], version = 1): State {
  const roots = [...new Set(runs.map((run) => run.root))];
  const board = {
    version: 1 as const,
    roots: roots.map((root) => ({ root, version, runs: runs.filter((run) => run.root === root) })),
  };
  const ready = reduce(INITIAL, {
    kind: "server",
    server: { state: "ready", description: "Using Phasekeeper 0.1.0." },
  });
  return reduce(ready, { kind: "board", board });
}
