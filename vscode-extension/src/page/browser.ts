/** The page in a browser: a list of runs beside the one that is shown. It reads, and follows what changes. */

import { keyOf, type RunName } from "../protocol";
import { element, icon, plural } from "./dom";
import { GONE, TABS, type RunLine, type RunList, type RunPage, type Tab } from "./model";
import { PageView } from "./page";

const STATUS: Readonly<Record<RunLine["rank"], string>> = { 0: "asked", 1: "failed", 2: "active", 3: "over" };
const AGAIN_MS = 250;
const AWAY_MS = 3_000;

class Refused extends Error {}

export function startBrowser(root: HTMLElement): void {
  void new Browser(root).start();
}

class Browser {
  private readonly nav = element("nav.runs", { "aria-label": "Runs" });
  private readonly main = element("main");
  private readonly view: PageView;
  private list: RunList = { roots: [] };
  private reading = false;
  private again = false;

  constructor(private readonly root: HTMLElement) {
    this.view = new PageView(this.main, {}, (tab) => this.setPlace(this.place(), tab));
  }

  async start(): Promise<void> {
    document.documentElement.classList.add("browser");
    const ticket = location.hash.slice(1);
    // A ticket has no "=", which every place in the page has.
    if (ticket && !ticket.includes("=")) {
      history.replaceState(null, "", "/");
      await this.exchange(ticket);
    }
    window.addEventListener("hashchange", () => void this.read());
    await this.read();
  }

  private async exchange(secret: string): Promise<boolean> {
    const answer = await fetch("/page/session", { method: "POST", body: secret, credentials: "same-origin" });
    return answer.ok;
  }

  // ---- reading

  /** Read the runs and the one that is shown; once more after it where something changed meanwhile. */
  private async read(): Promise<void> {
    if (this.reading) {
      this.again = true;
      return;
    }
    this.reading = true;
    try {
      do {
        this.again = false;
        await this.readOnce();
        if (this.again) await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
      } while (this.again);
    } catch (error) {
      if (error instanceof Refused) this.signIn();
      else this.away();
    } finally {
      this.reading = false;
    }
  }

  private async readOnce(): Promise<void> {
    this.list = (await get("/page/runs")) as RunList;
    if (!this.main.isConnected) this.root.replaceChildren(this.nav, this.main);
    this.follow();
    const name = this.place() ?? this.first();
    this.drawList(name);
    const { shown } = this.view;
    if (name && shown && keyOf(shown) !== keyOf(name)) this.view.clear("Reading…");
    if (!name)
      return this.view.receive({
        kind: "stale",
        why: "No run is served. `phasekeeper serve FOLDER --http PORT` serves those of a folder.",
      });
    const page = (await get(
      `/page/run?${new URLSearchParams({ root: name.root, run: name.run }).toString()}`,
    )) as RunPage | null;
    if (page) this.view.receive({ kind: "page", page, tab: this.tabOfPlace() });
    else this.view.receive({ kind: "stale", why: GONE });
  }

  private events: EventSource | undefined;

  private follow(): void {
    if (this.events) return;
    const events = (this.events = new EventSource("/page/events"));
    // Whatever differs, the list may; which run it is about costs more to tell than to read.
    events.onmessage = () => void this.read();
    events.addEventListener("begin", () => void this.read());
    events.onerror = () => {
      if (events.readyState !== EventSource.CLOSED) return this.stale();
      this.events = undefined;
      this.away();
    };
  }

  private stale(): void {
    this.view.receive({ kind: "stale", why: "The server does not answer. What stands here is how it was last." });
  }

  private away(): void {
    this.stale();
    setTimeout(() => void this.read(), AWAY_MS);
  }

  // ---- the place in the page

  private place(): RunName | undefined {
    const place = new URLSearchParams(location.hash.slice(1));
    const [root, run] = [place.get("root"), place.get("run")];
    return root === null || run === null ? undefined : { root, run };
  }

  private tabOfPlace(): Tab | undefined {
    const tab = new URLSearchParams(location.hash.slice(1)).get("tab");
    return TABS.find((each) => each === tab);
  }

  private first(): RunName | undefined {
    const runs = this.list.roots.flatMap(({ runs: own }) => own);
    return runs.reduce<RunLine | undefined>((best, run) => (best && best.rank <= run.rank ? best : run), undefined);
  }

  private setPlace(name: RunName | undefined, tab?: Tab): void {
    const shown = name ?? this.first();
    if (!shown) return;
    history.replaceState(null, "", `#${placeOf(shown, tab)}`);
  }

  // ---- the list

  private drawList(shown: RunName | undefined): void {
    const opened = this.nav.classList.contains("opened");
    const several = this.list.roots.length > 1;
    const count = this.list.roots.reduce((sum, { runs, more }) => sum + runs.length + more, 0);
    const waiting = this.list.roots.flatMap(({ runs }) => runs).filter(({ questions }) => questions > 0).length;
    const summary = waiting
      ? `${waiting} of ${plural(count, "run")} ${waiting === 1 ? "waits" : "wait"} for a person`
      : plural(count, "run");
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset["key"] : undefined;
    this.nav.replaceChildren(
      element("div.brand", {}, element("span", {}, "Phasekeeper"), this.moreButton(opened)),
      element("p.faint", {}, summary),
      ...this.list.roots.flatMap(({ root, runs, more }) => [
        ...(several ? [element("h2", { title: root }, root.split(/[\\/]/).at(-1) ?? root)] : []),
        element("ul", {}, ...runs.map((run) => this.line(run, shown))),
        ...(more ? [element("p.faint", {}, `and ${plural(more, "more run")}`)] : []),
      ]),
    );
    if (focused)
      this.nav.querySelector<HTMLElement>(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }

  private moreButton(opened: boolean): HTMLElement {
    const button = element(
      "button.quiet.more",
      { type: "button", "aria-expanded": String(opened), "data-key": "all-runs" },
      "All runs",
    );
    button.addEventListener("click", () => {
      const open = this.nav.classList.toggle("opened");
      button.setAttribute("aria-expanded", String(open));
    });
    return button;
  }

  private line(run: RunLine, shown: RunName | undefined): HTMLElement {
    const current = shown !== undefined && keyOf(shown) === keyOf(run);
    const words = run.questions
      ? "waits for you"
      : run.errors
        ? plural(run.errors, "error")
        : run.failedGates.length
          ? "gate failed"
          : run.status.replace("_", " ");
    return element(
      `li.${STATUS[run.rank]}`,
      {},
      element(
        "a",
        {
          href: `#${placeOf(run)}`,
          "aria-current": current ? "page" : undefined,
          "data-key": keyOf(run),
          click: () => this.nav.classList.remove("opened"),
        },
        icon(run.questions ? "person" : run.rank === 1 ? "failed" : run.rank === 3 ? "done" : "dot"),
        element("span", {}, element("strong", {}, run.title || run.run || "."), element("span.faint", {}, words)),
      ),
    );
  }

  // ---- without a session

  private signIn(): void {
    const field = element("input", { id: "secret", type: "password", autocomplete: "off" }) as HTMLInputElement;
    const told = element("p.result.bad", { role: "status" });
    const submit = async (): Promise<void> => {
      if (await this.exchange(field.value.trim())) await this.read();
      else
        told.textContent =
          "This lets nobody in. A link works once; the token is in the file that `phasekeeper serve` names.";
    };
    this.events?.close();
    this.events = undefined;
    this.root.replaceChildren(
      element(
        "form.card.sign-in",
        { submit: (event) => (event.preventDefault(), void submit()) },
        element("h1", {}, "Phasekeeper"),
        element(
          "p",
          {},
          "This browser has not been let in yet. Open the link that `phasekeeper serve --http` shows, or paste the token from the file that it names.",
        ),
        element("label", { for: "secret" }, "Token"),
        field,
        element("button.primary", { type: "submit" }, "Let me in"),
        told,
      ),
    );
    field.focus();
  }
}

const placeOf = ({ root, run }: RunName, tab?: Tab): string =>
  new URLSearchParams({ root, run, ...(tab && { tab }) }).toString();

/** The JSON at a path, null where there is none. Throws Refused without a session. */
async function get(path: string): Promise<unknown> {
  const answer = await fetch(path, { credentials: "same-origin", cache: "no-store" });
  if (answer.status === 401) throw new Refused(path);
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer.json();
}
