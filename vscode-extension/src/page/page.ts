/** The page of a run, the same in an editor's panel and in a browser: what is decided, the tasks, the records, the graph. */

import { isOver, keyOf, type RunName } from "../protocol";
import { phaseTitle, pictureOf } from "../graph/picture";
import { titleWithId } from "../names";
import { graphElement } from "../graph/view";
import { stepLabelOf } from "../step";
import { boardPanel } from "./board";
import { newUi, type Context, type Host } from "./context";
import { closedQuestions, closedWords, decidePanel } from "./decide";
import { element, icon, plural, type Child } from "./dom";
import { TABS, type RunPage, type Tab, type ToPage } from "./model";
import { refreshTimes } from "./time";
import { timelinePanel } from "./timeline";

const LABELS: Readonly<Record<Tab, string>> = {
  decide: "Decide",
  board: "Board",
  timeline: "Timeline",
  graph: "Graph",
};
const STATUS: Readonly<Record<RunPage["evaluation"]["status"], string>> = {
  active: "Active",
  waiting: "Waits for a job",
  waiting_human: "Waits for a person",
  blocked: "Blocked",
  complete: "Complete",
  failed: "Failed",
  exited: "Ended",
  invalid: "Cannot be told",
};
const TICK_MS = 20_000;

export class PageView {
  readonly context: Context;
  private page: RunPage | undefined;
  /** What each part was drawn of: a part is drawn again when that differs, so that nobody who types is disturbed. */
  private readonly drawn = new Map<string, string>();
  private stale = "";
  private isFirst = true;
  private readonly header = element("header.run");
  private readonly notice = element("p.notice", { role: "status", hidden: true });
  private readonly tabs = element("div.tabs", { role: "tablist", "aria-label": "Parts of the page" });
  private readonly panel = element("div.panel", { role: "tabpanel", id: "panel", tabindex: -1 });
  private readonly news = element("p.unseen", { "aria-live": "polite" });

  constructor(
    private readonly root: HTMLElement,
    host: Host,
    private readonly onTab: (tab: Tab) => void = () => undefined,
  ) {
    this.context = {
      host,
      ui: newUi(),
      absent: [],
      update: (change) => {
        change();
        this.draw(true);
      },
    };
    root.replaceChildren(this.header, this.notice, this.tabs, this.panel, this.news);
    setInterval(() => refreshTimes(root, Date.now()), TICK_MS);
  }

  receive(message: ToPage): void {
    const { ui } = this.context;
    if (message.kind === "stale") this.stale = message.why;
    if (message.kind === "tab") this.show(message.tab);
    if (message.kind === "page") this.take(message.page, message.tab);
    if (message.kind === "outcome") {
      ui.busy.delete(message.question);
      ui.outcomes.set(message.question, { text: message.text, failed: message.failed });
      if (!message.failed) for (const held of [ui.reasons, ui.choices, ui.closed]) held.delete(message.question);
      if (message.failed && this.page) this.close(this.page, this.page);
    }
    this.draw(message.kind === "outcome");
    if (message.kind === "outcome" && !message.failed) this.say(message.text);
  }

  /** Shows nothing of the run before while another is read. */
  clear(why: string): void {
    this.page = undefined;
    this.drawn.clear();
    for (const part of [this.header, this.tabs, this.panel]) part.replaceChildren();
    this.receive({ kind: "stale", why });
  }

  get shown(): RunName | undefined {
    return this.page?.evaluation;
  }

  private take(page: RunPage, tab: Tab | undefined): void {
    const before = this.page;
    const isOther = !before || keyOf(before.evaluation) !== keyOf(page.evaluation);
    if (isOther) {
      const { tab: last } = this.context.ui;
      Object.assign(this.context.ui, newUi(), {
        tab: tab ?? (this.isFirst ? "decide" : last),
      });
      this.isFirst = false;
      this.drawn.clear();
    } else if (tab) this.context.ui.tab = tab;
    this.page = page;
    this.context.absent = page.absent ?? [];
    this.stale = "";
    if (!isOther) this.close(before, page);
    if (!isOther && before.evaluation.revision !== page.evaluation.revision) this.say(newsOf(before, page));
  }

  /** Keeps what became of each question that is gone while a person was about to answer it. */
  private close(before: RunPage, after: RunPage): void {
    const { ui } = this.context;
    for (const id of closedQuestions(after, ui)) {
      ui.closed.set(id, { words: closedWords(id, before, after), typed: (ui.reasons.get(id) ?? "").trim() });
      for (const held of [ui.reasons, ui.choices, ui.outcomes]) held.delete(id);
    }
  }

  /** Has a reader of the screen say it; it is seen for a while, too. */
  private say(text: string): void {
    this.news.textContent = text;
  }

  show(tab: Tab): void {
    this.context.ui.tab = tab;
    this.onTab(tab);
    this.draw(true);
  }

  private draw(anew = false): void {
    const { page } = this;
    this.notice.hidden = !this.stale;
    this.notice.textContent = this.stale;
    this.root.classList.toggle("stale", this.stale !== "");
    if (!page) return;
    const { tab } = this.context.ui;
    document.title = page.evaluation.title || page.evaluation.run;
    this.part("header", [page.evaluation], () => this.header.replaceChildren(...headerElements(page)));
    this.part("tabs", [tab, page.decisions.length], () => this.drawTabs(page));
    if (anew) this.drawn.delete("panel");
    this.part("panel", [tab, page, this.context.ui.tab], () => {
      this.panel.setAttribute("aria-labelledby", `tab-${tab}`);
      this.panel.className = `panel ${tab}`;
      this.panel.replaceChildren(
        ...panelOf(tab, page, this.context).filter((each): each is Node => each instanceof Node),
      );
    });
  }

  /** Draws a part where what it shows differs; the focus and what is scrolled stay where they were. */
  private part(name: string, shows: unknown, draw: () => void): void {
    const now = JSON.stringify(shows);
    if (this.drawn.get(name) === now) return;
    this.drawn.set(name, now);
    const focus = document.activeElement;
    const key = focus instanceof HTMLElement || focus instanceof SVGElement ? focus.dataset["key"] : undefined;
    const selection = focus instanceof HTMLTextAreaElement ? [focus.selectionStart, focus.selectionEnd] : undefined;
    const top = document.scrollingElement?.scrollTop ?? 0;
    draw();
    if (document.scrollingElement) document.scrollingElement.scrollTop = top;
    if (!key || document.activeElement?.isConnected === false) return;
    const again = this.root.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`);
    if (again && again !== document.activeElement) again.focus({ preventScroll: true });
    if (again instanceof HTMLTextAreaElement && selection) again.setSelectionRange(selection[0]!, selection[1]!);
  }

  private drawTabs(page: RunPage): void {
    const { tab } = this.context.ui;
    const count = page.decisions.length + page.moreDecisions;
    this.tabs.replaceChildren(
      ...TABS.map((each) =>
        element(
          "button.tab",
          {
            type: "button",
            role: "tab",
            id: `tab-${each}`,
            "data-key": `tab-${each}`,
            "aria-selected": String(each === tab),
            "aria-controls": "panel",
            tabindex: each === tab ? 0 : -1,
            click: () => this.show(each),
            keydown: (event) => this.onTabKey(event as KeyboardEvent, each),
          },
          LABELS[each],
          each === "decide" &&
            count > 0 &&
            element("span.count", { "aria-label": `${plural(count, "question")} open` }, String(count)),
        ),
      ),
    );
  }

  private onTabKey(event: KeyboardEvent, tab: Tab): void {
    const at = TABS.indexOf(tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    const next = TABS[(to + TABS.length) % TABS.length]!;
    this.show(next);
    this.root.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  }
}

function panelOf(tab: Tab, page: RunPage, context: Context): Child[] {
  switch (tab) {
    case "decide":
      return decidePanel(page, context);
    case "board":
      return boardPanel(page, context);
    case "timeline":
      return timelinePanel(page, context);
    case "graph":
      return [graphElement(pictureOf(page.evaluation, page.graph, [...page.timeline.entries].reverse()), context)];
  }
}

function headerElements({ evaluation, moreFindings }: RunPage): HTMLElement[] {
  const phase = evaluation.phases.find(({ id }) => id === evaluation.currentPhase);
  const { progress, findings } = evaluation;
  const errors = findings.filter(({ severity }) => severity === "error").length;
  const over = isOver(evaluation);
  const facts = [
    evaluation.workflow,
    phase && !over && titleWithId(phase),
    progress && `${progress.done} of ${progress.total} tasks done`,
  ].filter((fact): fact is string => typeof fact === "string" && fact !== "");
  return [
    element("h1", {}, evaluation.title || evaluation.run || "."),
    element(
      "p.facts",
      {},
      element(`span.status.${evaluation.status}`, {}, STATUS[evaluation.status]),
      ...facts.map((fact) => element("span", {}, fact)),
    ),
    ...(over
      ? [element("p.next", {}, evaluation.statusReason)]
      : [
          element(
            "p.next",
            {},
            icon("arrow"),
            element("strong", {}, stepLabelOf(evaluation)),
            element("span", {}, evaluation.suggestion.reason),
          ),
        ]),
    ...(errors > 0 ? [findingsElement(findings, moreFindings, errors)] : []),
  ].filter(Boolean);
}

/** Errors of a run stand above everything else: nothing below can be believed without a look at them. */
function findingsElement(findings: RunPage["evaluation"]["findings"], more: number, errors: number): HTMLElement {
  const lines = findings.map(({ severity, message, path, line }) =>
    element(`li.${severity}`, {}, message, element("span.faint", {}, ` ${path}${line === null ? "" : `:${line}`}`)),
  );
  return element(
    "details.findings",
    {},
    element("summary", {}, `${plural(errors, "error")} in its files`),
    element("ul.plain", {}, ...lines),
    more > 0 && element("p.faint", {}, `and ${plural(more, "more problem")}`),
  );
}

/** What a person who does not see the page has to hear of a change. */
function newsOf(before: RunPage, after: RunPage): string {
  const asked = after.decisions.filter(({ question }) => !before.decisions.some((each) => each.question === question));
  if (asked.length) return `A person is asked: ${asked[0]!.text}`;
  if (isOver(after.evaluation)) return after.evaluation.statusReason;
  if (before.evaluation.currentPhase !== after.evaluation.currentPhase)
    return `Now in ${phaseTitle(after.evaluation, after.evaluation.currentPhase ?? after.evaluation.status)}`;
  return stepLabelOf(after.evaluation);
}
