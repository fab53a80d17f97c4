/** Rows for evidence: an expression, its value, and the line it was read from. */

import { nameOf, type Evidence, type RunName } from "../protocol";
import { baseName, formatValue, oneLine } from "../sanitize";
import { icon, type Place, type Row } from "./row";

export function placeOf(root: string, evidence: Evidence): Place | undefined {
  const { path, line, column } = evidence;
  return path === null ? undefined : { root, path, line, column };
}

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
