/** Rows for evidence: an expression, its value, and the line it was read from. */

import type { Evidence, RunName } from "../protocol";
import { plain, shown, tail } from "../sanitize";
import { icon, type Node, type Place } from "./row";

export function placeOf(root: string, evidence: Evidence): Place | undefined {
  const { path, line, column } = evidence;
  return path === null ? undefined : { root, path, line, column };
}

export function firstPlace(root: string, evidence: readonly Evidence[]): Place | undefined {
  return evidence.map((entry) => placeOf(root, entry)).find((place) => place !== undefined);
}

/** Where something is, short: the file's name and the line. */
export function where(place: Place): string {
  return plain(place.line === null ? tail(place.path) : `${tail(place.path)}:${place.line}`);
}

export function evidenceNodes(name: RunName, evidence: readonly Evidence[], id: string): Node[] {
  return evidence.map((entry, index) => {
    const place = placeOf(name.root, entry);
    const label = `${plain(entry.expression, 80)} = ${shown(entry.value)}`;
    return {
      id: `${id}/evidence/${index}`,
      label,
      description: place && where(place),
      tooltip: [label, ...(place ? [plain(place.path, 400)] : [])],
      icon: icon("symbol-field"),
      ...(place && { context: "place", click: "openPlace" as const }),
      subject: { ...name, place },
    };
  });
}
