/** The messages between the graph's panel and its webview. */

import type { Layout } from "./layout";

export interface Details {
  readonly title: string;
  readonly summary: string;
  readonly gates: readonly string[];
  readonly leads: readonly string[];
  readonly produces: readonly string[];
}

export interface Picture {
  readonly root: string;
  readonly run: string;
  readonly title: string;
  readonly summary: string;
  readonly layout: Layout;
  /** By id: what a gate is, and how it stands. */
  readonly gateLabels: Readonly<Record<string, string>>;
  readonly current: string | undefined;
  /** "from\nto" of the step that is suggested, and of the last ones. */
  readonly suggested: string | undefined;
  readonly recentWays: readonly string[];
  /** Ids in the order of the keyboard; gates as "gate:ID". */
  readonly order: readonly string[];
  readonly details: Readonly<Record<string, Details>>;
  readonly recent: readonly string[];
}

export interface ToWebview {
  readonly picture: Picture;
}

export type FromWebview = { readonly kind: "ready" } | { readonly kind: "gate"; readonly gate: string };
