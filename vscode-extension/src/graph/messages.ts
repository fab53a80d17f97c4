/** What the graph's panel and its webview say to each other. */

import type { GateStatus } from "../protocol";
import type { Layout } from "./layout";

export interface Details {
  readonly title: string;
  readonly said: string;
  readonly gates: readonly string[];
  readonly leads: readonly string[];
  readonly produces: readonly string[];
}

export interface Picture {
  readonly root: string;
  readonly run: string;
  readonly title: string;
  readonly said: string;
  readonly layout: Layout;
  readonly current: string | undefined;
  /** "from\nto" of the step that is suggested, and of those that were taken last. */
  readonly suggested: string | undefined;
  readonly taken: readonly string[];
  /** Ids in the order of the keyboard; gates as "gate:ID". */
  readonly order: readonly string[];
  readonly details: Readonly<Record<string, Details>>;
  readonly recent: readonly string[];
}

export interface ToView {
  readonly picture: Picture;
}

export type FromView = { readonly kind: "ready" } | { readonly kind: "gate"; readonly gate: string };

export const GATE_SAID: Record<GateStatus, string> = {
  passed: "passed",
  failed: "failed",
  open: "not passed yet",
  waived: "waived by a person",
  "not-reached": "not reached",
};
