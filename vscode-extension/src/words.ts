/** What a person in the editor does in place of a command that the server's texts name. */

const PLACES: Readonly<Record<string, string>> = {
  status: "the view Runs",
  next: "the view Next Steps",
  questions: "the view Waiting for You",
  escalations: "the view Waiting for You",
  answer: "“Answer…” in Waiting for You",
  approve: "“Decide on Approval…” in Waiting for You",
  resolve: "“Answer…” in Waiting for You",
  override: "“Override with Reason…”",
  report: "“Report Outcome…”",
  claim: "“Claim Task…”",
  release: "“Release Task…”",
  redo: "“Roll Back to Last Consistent Phase…”",
  start: "“Start Run…”",
  trust: "“Run Check”",
  verify: "“Run Check”",
  history: "the Timeline of “Open Run Page”",
};
const COMMAND = /`phasekeeper ([a-z]+)([^`\n]*)`/g;

/** A text with what is done here in place of commands; one that only a terminal has stays. */
export const inEditor = (text: string): string =>
  text.replace(COMMAND, (command, name: string) => PLACES[name] ?? command);
