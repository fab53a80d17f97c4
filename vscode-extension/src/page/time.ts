/** Times as people say them. */

const UNITS = [
  ["year", 31_557_600],
  ["month", 2_629_800],
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
] as const;

const WORDS = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const MOMENT = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "short" });

/** "3 hours ago", "in 20 minutes"; "" for what is no time. */
export function relative(at: string | null | undefined, now: number): string {
  const moment = at ? Date.parse(at) : Number.NaN;
  if (Number.isNaN(moment)) return "";
  const seconds = (moment - now) / 1000;
  for (const [unit, length] of UNITS)
    if (Math.abs(seconds) >= length) return WORDS.format(Math.trunc(seconds / length), unit);
  return seconds > 5 ? "in a moment" : "just now";
}

/** An element whose words are kept true by `refreshTimes`; the whole date is its title. */
export function timeElement(at: string, prefix = ""): HTMLTimeElement {
  const created = document.createElement("time");
  created.dateTime = at;
  created.dataset["prefix"] = prefix;
  const moment = Date.parse(at);
  if (!Number.isNaN(moment)) created.title = MOMENT.format(moment);
  created.textContent = prefix + relative(at, Date.now());
  return created;
}

export function refreshTimes(root: ParentNode, now: number): void {
  for (const each of Array.from(root.querySelectorAll("time")))
    each.textContent = (each.dataset["prefix"] ?? "") + relative(each.dateTime, now);
}
