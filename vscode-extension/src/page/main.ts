/** Begins the page where it is: in a panel of VS Code, or in a browser. */

import "./page.css";
import { startBrowser } from "./browser";
import type { FromPage, ToPage } from "./model";
import { PageView } from "./page";
import { keyOf } from "../protocol";

declare function acquireVsCodeApi(): { postMessage(message: FromPage): void; setState(state: unknown): void };

const root = document.getElementById("page")!;
if (typeof acquireVsCodeApi === "function") startPanel();
else startBrowser(root);

function startPanel(): void {
  const api = acquireVsCodeApi();
  const send = (message: FromPage): void => api.postMessage(message);
  let name: { root: string; run: string } | undefined;
  const keep = (): void => {
    if (name) api.setState({ ...name, tab: view.context.ui.tab });
  };
  const view = new PageView(
    root,
    {
      decide: (answer) => send({ kind: "decide", ...answer }),
      open: (path, line) => send({ kind: "open", path, line }),
      gate: (gate, act) => send({ kind: "gate", gate, act }),
    },
    keep,
  );
  window.addEventListener("message", ({ data }: MessageEvent<ToPage>) => {
    view.receive(data);
    if (data.kind !== "page") return;
    const { evaluation } = data.page;
    const other = !name || keyOf(name) !== keyOf(evaluation);
    name = { root: evaluation.root, run: evaluation.run };
    if (other || data.tab) keep();
  });
  send({ kind: "ready" });
}
