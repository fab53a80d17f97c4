/** What the status bar says: of the run that is being worked on, and how many things wait for a person. */

import { asked, isOver, runAt, runsOf, type Known } from "../store";
import type { Summary } from "../protocol";
import { literal, plain, plural } from "../text";
import { stepSaid } from "./next";
import { titleOf } from "./runs";

export interface Status {
  readonly text: string;
  readonly tooltip: readonly string[];
  readonly colour: "plain" | "warning" | "error";
  readonly click: "showNextStep" | "answerQuestion" | "restartServer" | "installServer" | "startRun";
}

/** `file` is the path of the active editor's file, with slashes. */
export function status(known: Known, file: string | undefined): Status {
  const { server } = known;
  switch (server.state) {
    case "starting":
      return { text: "$(loading~spin) Phasekeeper", tooltip: ["Phasekeeper is starting"], colour: "plain", click: "restartServer" };
    case "missing":
      return {
        text: "$(cloud-download) Phasekeeper",
        tooltip: ["Phasekeeper's server is not installed; click to install it"],
        colour: "warning",
        click: "installServer",
      };
    case "failed":
      return {
        text: "$(error) Phasekeeper",
        tooltip: ["Phasekeeper's server has stopped; click to restart it", plain(server.why, 400)],
        colour: "error",
        click: "restartServer",
      };
    case "ready":
      return ready(known, file, server.said);
  }
}

function ready(known: Known, file: string | undefined, said: string): Status {
  const run = inFocus(known, file);
  if (!run) return { text: "$(checklist) Phasekeeper", tooltip: ["No run goes on", plain(said, 400)], colour: "plain", click: "startRun" };
  const waiting = asked(known).length;
  const progress = run.progress && run.progress.total ? ` ${run.progress.done}/${run.progress.total}` : "";
  const bell = waiting ? `  $(bell-dot) ${waiting}` : "";
  const title = literal(titleOf(run), 30);
  return {
    text: `$(checklist) ${title}: ${literal(run.currentPhase ?? run.status, 30)}${progress}${bell}`,
    tooltip: [
      `${titleOf(run)}: ${plain(run.currentPhase ?? run.status)}`,
      `${stepSaid(run.suggestion)}${run.suggestion.reason ? `: ${plain(run.suggestion.reason, 300)}` : ""}`,
      ...(waiting ? [`${plural(waiting, "thing")} ${waiting === 1 ? "waits" : "wait"} for you; click to answer`] : []),
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
