/** A row of a tree as a value, and rows for evidence. No VS Code in here: views are pure functions from the state to rows. */

import { nameOf, type Evidence, type RunName } from "../protocol";
import { baseName, formatValue, oneLine } from "../sanitize";
import type { PageKind } from "../store";

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
  /** Which page of the root, or of the project's board on all machines, comes next. */
  readonly page?: PageKind;
  readonly project?: string;
  readonly gate?: string;
  readonly task?: string;
  /** All tasks that are selected with it, itself among them. */
  readonly tasks?: readonly string[];
  readonly who?: string;
  readonly question?: string;
  readonly option?: string;
  readonly step?: string;
  /** Of a report. */
  readonly outcome?: string;
  /** The phase that an override moves the run to. */
  readonly to?: string;
  readonly place?: Place;
  /** Of a place: what an editor holds at first in which a file is written that is not there; else nothing is written. */
  readonly example?: string;
  /** The address of the document that is handed in with a report. */
  readonly draft?: string;
}

export interface Row {
  /** The same row keeps its id, so that it stays open and selected. */
  readonly id: string;
  readonly label: string;
  readonly description?: string;
  /** Lines of plain text. */
  readonly tooltip?: readonly string[];
  readonly icon?: Icon;
  /** What only the icon shows, for screen readers. */
  readonly iconLabel?: string;
  /** Words that menus look for. */
  readonly context?: string;
  readonly subject?: Subject;
  /** A command of ours, called with the subject, when the row is clicked. */
  readonly click?:
    | "openPlace"
    | "answerQuestion"
    | "reportOutcome"
    | "runCheck"
    | "overrideGate"
    | "showTimeline"
    | "loadMore"
    | "clearFilter";
  /** The rows below it; a function for those that have to be requested. */
  readonly children?: readonly Row[] | (() => Promise<readonly Row[]>);
  /** What the rows that are requested are of; without it they may be others at any time. */
  readonly revision?: string;
  readonly open?: boolean;
}

/** The manifest says what these are in each kind of theme: none of VS Code's own is there in all of them. */
export const GOOD = "phasekeeper.good";
export const BAD = "phasekeeper.bad";
export const WAITING = "phasekeeper.asked";
export const FAINT = "phasekeeper.faint";
export const NOW = "phasekeeper.now";

export const icon = (name: string, color?: string): Icon => (color ? { name, color } : { name });

/** The row behind those that are held, which brings more; none where all are held. */
export function moreRows(root: string, view: string, count: number, page: PageKind): Row[] {
  if (count === 0) return [];
  const label = `… ${count} more`;
  return [
    {
      id: `${root}\nmore/${view}/${page}`,
      label,
      tooltip: [`${label}: click to show the next ones`],
      icon: icon("ellipsis", FAINT),
      click: "loadMore",
      subject: { root, run: "", page },
    },
  ];
}

export function placeOf(root: string, evidence: Evidence): Place | undefined {
  const { path, line, column } = evidence;
  return path === null ? undefined : { root, path, line, column };
}

/** True for a path that may be a file's: not a folder's, and not a pattern. */
export const isFilePath = (path: string): boolean => !/[*?[\]{}]|\/$/.test(path);

export function firstPlace(root: string, evidence: readonly Evidence[]): Place | undefined {
  return evidence.map((entry) => placeOf(root, entry)).find((place) => place !== undefined);
}

/** An expression and its value. */
export const evidenceLabel = ({ expression, value }: Evidence): string =>
  `${oneLine(expression, 80)} = ${formatValue(value)}`;

/** Where something is, short: the file's name and the line. */
export function placeLabel(place: Place): string {
  return oneLine(place.line === null ? baseName(place.path) : `${baseName(place.path)}:${place.line}`);
}

export function evidenceRows(name: RunName, evidence: readonly Evidence[], id: string): Row[] {
  return evidence.map((entry, index) => {
    const place = placeOf(name.root, entry);
    const label = evidenceLabel(entry);
    return {
      id: `${id}/evidence/${index}`,
      label,
      description: place && placeLabel(place),
      tooltip: [label, ...(place ? [oneLine(place.path, 400)] : [])],
      icon: icon("symbol-field"),
      ...(place && { context: "place", click: "openPlace" as const }),
      subject: { ...nameOf(name), place },
    };
  });
}
