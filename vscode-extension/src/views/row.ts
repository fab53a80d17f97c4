/** What a row of a tree shows, without VS Code: views are functions from what is known to these. */

import type { RunName } from "../protocol";

export interface Icon {
  readonly name: string;
  /** A theme colour. */
  readonly color?: string;
}

/** A place in a file; line and column as the server says them. */
export interface Place {
  readonly root: string;
  readonly path: string;
  readonly line: number | null;
  readonly column: number | null;
}

/** What a command on a row is about. */
export interface Subject extends RunName {
  readonly gate?: string;
  readonly task?: string;
  readonly who?: string;
  readonly question?: string;
  readonly option?: string;
  readonly step?: string;
  readonly place?: Place;
}

export interface Node {
  /** The same row keeps its id, so that it stays open and selected. */
  readonly id: string;
  readonly label: string;
  readonly description?: string;
  /** Lines of plain text. */
  readonly tooltip?: readonly string[];
  readonly icon?: Icon;
  /** What only the icon shows, for those who hear the row. */
  readonly spoken?: string;
  /** Words that menus look for. */
  readonly context?: string;
  readonly subject?: Subject;
  /** A command of ours, called with the subject, when the row is clicked. */
  readonly click?: "openPlace" | "answerQuestion";
  /** What is below it; a function for what has to be asked for first. */
  readonly children?: readonly Node[] | (() => Promise<readonly Node[]>);
  readonly open?: boolean;
}

/** The manifest says what these are in each kind of theme: none of VS Code's own is there in all of them. */
export const GOOD = "phasekeeper.good";
export const BAD = "phasekeeper.bad";
export const ASKED = "phasekeeper.asked";
export const FAINT = "phasekeeper.faint";
export const NOW = "phasekeeper.now";

export const icon = (name: string, color?: string): Icon => (color ? { name, color } : { name });
