/** How ready the sidebar is: which of its welcomes is shown, and which commands there are. */

import { openQuestions, type State } from "../store";

/** `unusable`: the setting names a Python without a server; `looking`: folders were not looked at yet. */
export type Readiness = "starting" | "slow" | "looking" | "ready" | "missing" | "unusable" | "failed";

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

/** What stands above the questions where none can be answered. */
export const restrictedMessage = (state: State, trusted: boolean): string | undefined =>
  trusted || openQuestions(state).length === 0
    ? undefined
    : "Restricted Mode: answers are recorded once you trust this folder.";
