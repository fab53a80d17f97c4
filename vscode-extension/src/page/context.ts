/** What the parts of the page share: the host, and what a person has opened, chosen and typed. */

import type { Answer, Tab } from "./model";

/** Where the page is shown. What a host cannot do is absent. */
export interface Host {
  /** Records a decision. Without it the page shows the command with which a person decides on a terminal. */
  readonly decide?: (answer: Answer) => void;
  readonly open?: (path: string, line: number | null) => void;
  readonly gate?: (gate: string, act: "explain" | "check") => void;
}

/** State of the page itself: no file has it, and what comes from the server does not change it. */
export interface Ui {
  tab: Tab;
  byStage: boolean;
  /** Undefined: readable, around the present phase. */
  zoom: number | "fit" | undefined;
  selected: string | undefined;
  /** How far the graph is scrolled. */
  scroll: readonly [number, number] | undefined;
  readonly choices: Map<string, string>;
  readonly reasons: Map<string, string>;
  readonly outcomes: Map<string, { text: string; failed: boolean }>;
  readonly busy: Set<string>;
  readonly documents: Map<string, number>;
  readonly differences: Set<string>;
  readonly opened: Set<string>;
  /** By id: questions that were closed while a person was about to answer them. */
  readonly closed: Map<string, Closed>;
}

/** What became of a question, and what a person had typed for it. */
export interface Closed {
  readonly words: string;
  readonly typed: string;
}

export const newUi = (): Ui => ({
  tab: "decide",
  byStage: false,
  zoom: undefined,
  selected: undefined,
  scroll: undefined,
  choices: new Map(),
  reasons: new Map(),
  outcomes: new Map(),
  busy: new Set(),
  documents: new Map(),
  differences: new Set(),
  opened: new Set(),
  closed: new Map(),
});

export interface Context {
  readonly host: Host;
  readonly ui: Ui;
  /** Paths that the page names and that are not there: no link leads to them. */
  absent: readonly string[];
  /** Change the state, then draw the page again. */
  readonly update: (change: () => unknown) => void;
}
