/** What a person is asked: the question, each option with what it leads to, the files beside it, one reason, one button. */

import { gateTitle, taskTitles } from "../names";
import { stepLabelOf } from "../step";
import type { Choice, Decision, RunPage } from "./model";
import { element, icon, plural, type Child } from "./dom";
import type { Closed, Context, Ui } from "./context";
import { documentsElement } from "./documents";
import { timeElement } from "./time";

const KIND = { approval: "Approval", escalation: "Escalation", clarification: "Question" } as const;

export function decidePanel(page: RunPage, context: Context): Child[] {
  const closed = [...context.ui.closed].map(([id, each]) => closedElement(id, each, context));
  if (page.decisions.length === 0) return [...closed, nothingAsked(page, context)];
  const more =
    page.moreDecisions > 0 &&
    element("p.faint", {}, `${plural(page.moreDecisions, "more question")} open; they come up as these are answered.`);
  return [...closed, ...page.decisions.map((decision) => questionElement(page, decision, context)), more];
}

/** The questions for which something was chosen or typed here and that are open no more; one on its way is not. */
export const closedQuestions = ({ evaluation }: RunPage, { choices, reasons, busy }: Ui): string[] =>
  [...new Set([...choices.keys(), ...reasons.keys()])].filter(
    (id) =>
      !busy.has(id) &&
      !evaluation.questions.some((question) => question.id === id) &&
      (choices.has(id) || reasons.get(id)?.trim()),
  );

/** What became of a question that is open no more, as the timeline has it. */
export function closedWords(id: string, before: RunPage, after: RunPage): string {
  const text = before.decisions.find(({ question }) => question === id)?.text ?? id;
  const answer = after.timeline.entries.find(
    ({ kind, sentence }) => kind === "answer" && sentence.startsWith(`Answered ${id}: `),
  );
  const isNew =
    before === after || !before.timeline.entries.some(({ at, line }) => answer?.at === at && answer.line === line);
  if (!answer || !isNew) return `This question is not asked any more: ${text}`;
  const how = [answer.who && `by ${answer.who}`, answer.sentence.replace(`Answered ${id}: `, "")].filter(Boolean);
  return `This question was answered meanwhile, ${how.join(": ")}${answer.why && `, “${answer.why}”`}. It was: ${text}`;
}

function closedElement(id: string, { words, typed }: Closed, { ui, update }: Context): HTMLElement {
  return element(
    "div.notice",
    { role: "status" },
    element("p", {}, words),
    typed && !words.includes(typed) && element("p.faint", {}, `Nothing was recorded of what you had written: ${typed}`),
    element("button.quiet", { type: "button", click: () => update(() => ui.closed.delete(id)) }, "Close"),
  );
}

/** The next step stands where nobody is asked anything. */
function nothingAsked({ evaluation, board }: RunPage, context: Context): HTMLElement {
  const { suggestion } = evaluation;
  const titles = taskTitles(board?.stages);
  // A record says what a report said; the report itself is on the timeline.
  const evidence = byLine(suggestion.evidence.filter(({ path }) => path !== null && !path.endsWith("/journal.jsonl")));
  const shut = evaluation.gates.filter((gate) => gate.inForce && (gate.status === "failed" || gate.status === "open"));
  const unmet = shut.flatMap((gate) =>
    gate.criteria.filter(({ met }) => met !== true).map(({ text }) => `${gateTitle(gate)}: ${text}`),
  );
  return element(
    "section.card.calm",
    {},
    element("p.label", {}, "Nothing waits for a person"),
    element("h2", {}, stepLabelOf(evaluation)),
    element("p", {}, suggestion.reason),
    suggestion.tasks.length > 0 &&
      element("p.faint", {}, `Tasks: ${suggestion.tasks.map((id) => titles.get(id) || id).join(", ")}`),
    unmet.length > 0 &&
      element(
        "div",
        {},
        element("h3", {}, "Not met yet"),
        element("ul.plain", {}, ...unmet.map((text) => element("li", {}, text))),
      ),
    evidence.length > 0 &&
      element(
        "div",
        {},
        element("h3", {}, "Evidence"),
        element(
          "ul.plain",
          {},
          ...evidence.map(({ path, line }) => element("li", {}, pathElement(path!, line, context))),
        ),
      ),
  );
}

/** The places of each file in the order of their lines, the files as they come. */
export function byLine<T extends { readonly path: string | null; readonly line: number | null }>(
  places: readonly T[],
): T[] {
  const paths = places.map(({ path }) => path);
  return [...places].sort(
    (one, other) => paths.indexOf(one.path) - paths.indexOf(other.path) || (one.line ?? 0) - (other.line ?? 0),
  );
}

export function pathElement(path: string, line: number | null, { host, absent }: Context): HTMLElement {
  const place = line === null ? path : `${path}:${line}`;
  return host.open && !absent.includes(path)
    ? element("button.path", { type: "button", click: () => host.open!(path, line) }, place)
    : element("code.path", {}, place);
}

function questionElement(page: RunPage, decision: Decision, context: Context): HTMLElement {
  const { ui } = context;
  const id = decision.question;
  const heading = `question-${id}`;
  const chosen = decision.options.find((option) => option.id === ui.choices.get(id) && option.possible);
  const since = decision.since && timeElement(decision.since, "asked ");
  const asked = element(
    "form.card.asked",
    { "aria-labelledby": heading, submit: (event) => event.preventDefault() },
    element("p.label", {}, icon("person"), KIND[decision.kind], since && element("span.faint", {}, since)),
    element("h2", { id: heading }, decision.text),
    decision.background.length > 0 &&
      element("ul.plain.background", {}, ...decision.background.map((line) => element("li", {}, line))),
    decision.options.length > 0 && optionsElement(decision, chosen, context),
    reasonElement(page, decision, chosen, context),
  );
  const beside = decision.documents.length > 0 && documentsElement(decision.documents, id, context);
  return element(`div.question${beside ? ".beside" : ""}`, {}, asked, beside);
}

function optionsElement({ question, options }: Decision, chosen: Choice | undefined, context: Context): HTMLElement {
  return element(
    "fieldset",
    {},
    element("legend", {}, "Your decision"),
    ...options.map((option, at) => {
      const described = `${question}/option/${at}/text`;
      return element(
        `label.option${option === chosen ? ".chosen" : ""}`,
        {},
        element("input", {
          type: "radio",
          name: question,
          value: option.id,
          checked: option === chosen,
          disabled: !option.possible,
          "aria-describedby": described,
          "data-key": `${question}/option/${at}`,
          change: () => context.update(() => context.ui.choices.set(question, option.id)),
        }),
        element(
          "span.words",
          {},
          element("strong", {}, capital(option.label || option.id)),
          element(
            "span",
            { id: described },
            option.consequence && element("span.consequence", {}, capital(option.consequence)),
            element(`span.outcome${option.possible ? "" : ".impossible"}`, {}, icon("arrow"), leadsTo(option)),
            option.signed.length > 0 && element("pre.text", {}, option.signed.join("\n")),
          ),
        ),
      );
    }),
  );
}

const leadsTo = ({ outcome }: Choice): string => capital(outcome.replace(/^afterwards: /, ""));

const capital = (text: string): string => (text ? text[0]!.toUpperCase() + text.slice(1) : text);

function reasonElement(page: RunPage, decision: Decision, chosen: Choice | undefined, context: Context): HTMLElement {
  const { host, ui } = context;
  const id = decision.question;
  const free = decision.options.length === 0;
  const reason = (): string => (ui.reasons.get(id) ?? "").trim();
  const action = element("div.action");
  const draw = (): void => action.replaceChildren(...actionElements(page, decision, chosen, reason(), context));
  const field = element("textarea", {
    id: `${id}/reason`,
    rows: 2,
    maxlength: 2000,
    placeholder: free ? "Recorded with your name, and read by whoever goes on" : "Recorded with your name",
    "data-key": `${id}/reason`,
    input: (event) => {
      ui.reasons.set(id, (event.target as HTMLTextAreaElement).value);
      draw();
    },
  }) as HTMLTextAreaElement;
  field.value = ui.reasons.get(id) ?? "";
  draw();
  const outcome = ui.outcomes.get(id);
  return element(
    "div.reason",
    {},
    element("label", { for: `${id}/reason` }, free ? "Your answer" : "Reason"),
    field,
    action,
    host.decide && outcome && element(`p.result${outcome.failed ? ".bad" : ""}`, { role: "status" }, outcome.text),
  );
}

/** The button, or the command; and what is missing before it can be pressed. */
function actionElements(
  page: RunPage,
  decision: Decision,
  chosen: Choice | undefined,
  reason: string,
  { host, ui, update }: Context,
): HTMLElement[] {
  const id = decision.question;
  const free = decision.options.length === 0;
  const wanting =
    !free && !chosen ? "Choose an option" : !reason ? (free ? "Write the answer" : "Write the reason") : "";
  if (!host.decide) {
    const line = commandOf(
      free
        ? decision.command.replace("ANSWER", quote(reason || "ANSWER"))
        : (chosen?.command ?? decision.command.replace("ANSWER", "OPTION")),
      reason,
    );
    return [
      element("p.faint", {}, "This page only shows. A person decides on a terminal:"),
      element("div.command", {}, element("code", {}, line), copyButton(line, wanting)),
    ];
  }
  const { decide } = host;
  const press = (): void => {
    const answer = { question: id, option: free ? reason : chosen!.id, reason, revision: page.evaluation.revision };
    update(() => {
      ui.busy.add(id);
      ui.outcomes.delete(id);
    });
    decide(answer);
  };
  const busy = ui.busy.has(id);
  const unsaved = page.unsaved ?? [];
  return [
    ...unsaved.map((path) => element("p.faint", {}, `Not saved, and not counted here: ${path}`)),
    element(
      "button.primary",
      { type: "button", disabled: busy || wanting !== "", click: press, "data-key": `${id}/decide` },
      busy ? "Recording…" : free ? "Answer" : chosen ? `Decide: ${chosen.label || chosen.id}` : "Decide",
    ),
    element("span.faint", { "aria-live": "polite" }, wanting),
  ];
}

function copyButton(line: string, wanting: string): HTMLElement {
  const button = element("button.quiet", {
    type: "button",
    disabled: wanting !== "",
    title: wanting || "Copy the command",
    click: () =>
      void navigator.clipboard.writeText(line).then(
        () => (button.textContent = "Copied"),
        () => (button.textContent = "Select it, and copy"),
      ),
  });
  button.textContent = wanting || "Copy";
  return button;
}

/** The command with the reason that was typed, for a shell. */
export const commandOf = (command: string, reason: string): string =>
  reason ? command.replace(/"why"$/, () => quote(reason)) : command;

/** One word for a POSIX shell, on one line. */
export const quote = (text: string): string => {
  const line = text.replace(/\s+/g, " ").trim();
  return /^[\w@%+=:,./-]+$/.test(line) ? line : `'${line.replaceAll("'", `'"'"'`)}'`;
};
