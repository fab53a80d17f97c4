/** How a gate stands, in a person's words. */

import type { Evaluation, Gate } from "./protocol";

const WORDS: Readonly<Record<Gate["status"], string>> = {
  passed: "passed",
  failed: "failed",
  open: "not passed yet",
  waived: "waived by a person",
  "not-reached": "not reached",
};

/** A run that is complete never comes to the gates that it went past on another way. */
export const gateWord = ({ status }: Pick<Evaluation, "status">, gate: Pick<Gate, "status">): string =>
  gate.status === "not-reached" && status === "complete" ? "not needed" : WORDS[gate.status];
