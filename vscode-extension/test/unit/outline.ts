/** Trees as lines, for comparing. */

import type { Row } from "../../src/views/row";

/** Each row as "label | description", indented by its depth. */
export async function outline(nodes: readonly Row[], depth = 0): Promise<string[]> {
  const lines: string[] = [];
  for (const node of nodes) {
    lines.push(`${"  ".repeat(depth)}${node.label} | ${node.description ?? ""}`.trimEnd());
    const children = typeof node.children === "function" ? await node.children() : (node.children ?? []);
    lines.push(...(await outline(children, depth + 1)));
  }
  return lines;
}
