/** How far the sidebar is: which of its welcomes is shown, and which commands there are. */

import { asked, type Known } from "../store";

/** `unusable`: the setting names a Python without a server; `looking`: folders were not looked at yet. */
export type Stage = "starting" | "slow" | "looking" | "ready" | "missing" | "unusable" | "failed";

/** `folders` is how many folders with files on this disk are open. */
export function stage({ server, roots }: Known, folders: number): Stage {
  if (server.state === "missing" && server.why) return "unusable";
  // A folder without runs is a root without runs: no root at all is one that is still to come.
  return server.state === "ready" && folders > 0 && roots.size === 0 ? "looking" : server.state;
}

/** What is said of rows that are shown from before, while nothing newer can be known yet. */
const HELD: Partial<Record<Stage, string>> = {
  starting: "as before: the server is starting",
  slow: "as before: the server has not answered yet",
  looking: "as before: files are being looked at",
};

/** Why what was shown stays as it was; undefined where what is known is to be shown. */
export const held = (known: Known, folders: number): string | undefined => HELD[stage(known, folders)];

/** What stands above the questions where none can be answered. */
export const restricted = (known: Known, trusted: boolean): string | undefined =>
  trusted || asked(known).length === 0
    ? undefined
    : "Restricted Mode: answers are recorded once you trust this folder.";
