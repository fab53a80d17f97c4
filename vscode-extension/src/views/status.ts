/** How ready the sidebar is, and the status bar item: the run that is being worked on, and what waits for a person. */

import type { Summary } from "../protocol";
import { escapeLabel, oneLine } from "../sanitize";
import { isOver, questionCount, runAt, runsOf, type State } from "../store";
import { stepSentence } from "./next";
import { STATUS, titleOf, whereOf } from "./runs";
import { waitingText } from "./waiting";

/** `unusable`: the setting names a Python without a server; `looking`: folders were not looked at yet. */
type Readiness = "starting" | "slow" | "looking" | "ready" | "missing" | "unusable" | "failed";

/** `folders` is how many folders with files on this disk are open. */
export function readiness({ server, roots }: State, folders: number): Readiness {
  if (server.state === "missing" && server.why) return "unusable";
  // A folder without runs is a root without runs: no root at all is one that is still to come.
  return server.state === "ready" && folders > 0 && roots.size === 0 ? "looking" : server.state;
}

/** The note on rows that are shown from before, while nothing newer can be known yet. */
const STALE: Partial<Record<Readiness, string>> = {
  starting: "as before: the server is starting",
  slow: "as before: the server has not answered yet",
  looking: "as before: files are being looked at",
};

/** Why the rows from before stay; undefined where the state is to be shown. */
export const staleReason = (state: State, folders: number): string | undefined => STALE[readiness(state, folders)];

interface Status {
  readonly text: string;
  readonly tooltip: readonly string[];
  readonly colour: "plain" | "warning" | "error";
  readonly click:
    | "openPage"
    | "showNextStep"
    | "answerQuestion"
    | "restartServer"
    | "installServer"
    | "choosePython"
    | "showOutput"
    | "startRun";
}

/** `file` is the path of the active editor's file, with slashes; `folders` is how many folders are open. */
export function status(state: State, file: string | undefined, folders: number, trusted: boolean): Status {
  const now = readiness(state, folders);
  return now === "ready" ? runStatus(state, file, trusted) : serverStatus(state, now);
}

type Shape = readonly [icon: string, colour: Status["colour"], click: Status["click"], tooltip: string];

const SERVER: Record<Exclude<Readiness, "ready">, Shape> = {
  starting: ["loading~spin", "plain", "showOutput", "Phasekeeper's server is starting; click for its output"],
  looking: [
    "loading~spin",
    "plain",
    "showOutput",
    "Phasekeeper looks at the files of this workspace; click for its output",
  ],
  slow: ["watch", "warning", "restartServer", "Phasekeeper's server has not answered yet; click to restart it"],
  missing: ["cloud-download", "warning", "installServer", "Phasekeeper's server is not installed; click to install it"],
  unusable: ["error", "error", "choosePython", "Phasekeeper has no server; click to choose its Python"],
  failed: ["error", "error", "restartServer", "Phasekeeper's server has stopped; click to restart it"],
};

function serverStatus({ server }: State, now: Exclude<Readiness, "ready">): Status {
  const [icon, colour, click, tooltip] = SERVER[now];
  const why = "why" in server && server.why ? [oneLine(server.why, 400)] : [];
  return { text: `$(${icon}) Phasekeeper`, tooltip: [tooltip, ...why], colour, click };
}

function runStatus(state: State, file: string | undefined, trusted: boolean): Status {
  const { server } = state;
  const run = runAtHand(state, file);
  if (!run && runsOf(state).some((entry) => !isOver(entry))) return overview(state, trusted);
  if (!run) {
    const tooltip = [
      "No run goes on; click to start one",
      ...("description" in server ? [oneLine(server.description, 400)] : []),
    ];
    return { text: "$(checklist) Phasekeeper", tooltip, colour: "plain", click: "startRun" };
  }
  const waiting = questionCount(state);
  const isAsked = run.questions.length > 0;
  const progress = run.progress && run.progress.total ? ` ${run.progress.done}/${run.progress.total}` : "";
  const bell = waiting ? `  $(bell-dot) ${waiting}` : "";
  const title = escapeLabel(titleOf(run), 30);
  const where = whereOf(run) || STATUS[run.status].label;
  return {
    text: `$(checklist) ${title}: ${escapeLabel(where, 30)}${progress}${bell}`,
    tooltip: [
      `${titleOf(run)}: ${oneLine(where)}`,
      isOver(run) ? oneLine(run.statusReason, 400) : stepSentence(run),
      ...(waiting ? [`${waitingText(waiting)}; ${trusted ? "click to answer" : "not in Restricted Mode"}`] : []),
    ],
    // Of what another run waits for the bell is enough.
    colour: isAsked ? "warning" : "plain",
    click: waiting ? "answerQuestion" : isOver(run) ? "openPage" : "showNextStep",
  };
}

/** No run is at hand: how many things wait, and nothing about any run of many. */
function overview(state: State, trusted: boolean): Status {
  const waiting = questionCount(state);
  const tooltip = waiting
    ? [`${waitingText(waiting)}; ${trusted ? "click to answer" : "not in Restricted Mode"}`]
    : ["Nothing waits for you; click for a next step"];
  const bell = waiting ? `  $(bell-dot) ${waiting}` : "";
  const click = waiting ? "answerQuestion" : "showNextStep";
  return { text: `$(checklist) Phasekeeper${bell}`, tooltip, colour: "plain", click };
}

/** The run around the active file, else the only one that goes on. */
function runAtHand(state: State, file: string | undefined): Summary | undefined {
  const on = runsOf(state).filter((run) => !isOver(run));
  return (file && runAt(state, file)) || (on.length === 1 ? on[0] : undefined);
}
