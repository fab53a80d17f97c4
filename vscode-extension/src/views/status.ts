/** What the status bar says: of the run that is being worked on, and how many things wait for a person. */

import { asked, isOver, runAt, runsOf, type Known } from "../store";
import { stage, type Stage } from "./readiness";
import type { Summary } from "../protocol";
import { literal, plain, plural } from "../sanitize";
import { stepSaid } from "./next";
import { titleOf } from "./runs";

export interface Status {
  readonly text: string;
  readonly tooltip: readonly string[];
  readonly colour: "plain" | "warning" | "error";
  readonly click:
    "showNextStep" | "answerQuestion" | "restartServer" | "installServer" | "choosePython" | "showOutput" | "startRun";
}

/** `file` is the path of the active editor's file, with slashes; `folders` is how many folders are open. */
export function status(known: Known, file: string | undefined, folders: number, trusted: boolean): Status {
  const said = stage(known, folders);
  return said === "ready" ? ready(known, file, trusted) : notYet(known, said);
}

function notYet({ server }: Known, said: Exclude<Stage, "ready">): Status {
  const of = (icon: string, colour: Status["colour"], click: Status["click"], ...tooltip: string[]): Status => ({
    text: `$(${icon}) Phasekeeper`,
    tooltip: [...tooltip, ...("why" in server && server.why ? [plain(server.why, 400)] : [])],
    colour,
    click,
  });
  switch (said) {
    case "starting":
      return of("loading~spin", "plain", "showOutput", "Phasekeeper's server is starting; click for its output");
    case "looking":
      return of(
        "loading~spin",
        "plain",
        "showOutput",
        "Phasekeeper looks at the files of this workspace; click for its output",
      );
    case "slow":
      return of("watch", "warning", "restartServer", "Phasekeeper's server has not answered yet; click to restart it");
    case "missing":
      return of(
        "cloud-download",
        "warning",
        "installServer",
        "Phasekeeper's server is not installed; click to install it",
      );
    case "unusable":
      return of("error", "error", "choosePython", "Phasekeeper has no server; click to choose its Python");
    case "failed":
      return of("error", "error", "restartServer", "Phasekeeper's server has stopped; click to restart it");
  }
}

function ready(known: Known, file: string | undefined, trusted: boolean): Status {
  const { server } = known;
  const run = inFocus(known, file);
  if (!run) {
    const tooltip = ["No run goes on; click to start one", ...("said" in server ? [plain(server.said, 400)] : [])];
    return { text: "$(checklist) Phasekeeper", tooltip, colour: "plain", click: "startRun" };
  }
  const waiting = asked(known).length;
  const progress = run.progress && run.progress.total ? ` ${run.progress.done}/${run.progress.total}` : "";
  const bell = waiting ? `  $(bell-dot) ${waiting}` : "";
  const title = literal(titleOf(run), 30);
  return {
    text: `$(checklist) ${title}: ${literal(run.currentPhase ?? run.status, 30)}${progress}${bell}`,
    tooltip: [
      `${titleOf(run)}: ${plain(run.currentPhase ?? run.status)}`,
      `${stepSaid(run.suggestion)}${run.suggestion.reason ? `: ${plain(run.suggestion.reason, 300)}` : ""}`,
      ...(waiting
        ? [
            `${plural(waiting, "thing")} ${waiting === 1 ? "waits" : "wait"} for you; ${trusted ? "click to answer" : "not in Restricted Mode"}`,
          ]
        : []),
    ],
    colour: waiting ? "warning" : "plain",
    click: waiting ? "answerQuestion" : "showNextStep",
  };
}

/** The run around the active file, else one that waits for a person, else the first that goes on. */
export function inFocus(known: Known, file: string | undefined): Summary | undefined {
  const on = runsOf(known).filter((run) => !isOver(run));
  return (file && runAt(known, file)) || on.find((run) => run.questions.length > 0) || on[0];
}
