/** The rows of the runs on all machines: where clones differ, what people are asked, and how each machine stands. */

import { sentence } from "../names";
import { missingRuns, type SharedBoard } from "../fleet";
import { relative } from "../page/time";
import type { Clone, RunClones, SharedRun, Summary } from "../protocol";
import { oneLine, plural } from "../sanitize";
import type { PageKind } from "../store";
import { formatMinute } from "./recent";
import { BAD, FAINT, icon, moreRows, WAITING, type Icon, type Row } from "./row";
import { STATUS, titleOf } from "./runs";

type FetchClones = (project: string, run: string) => Promise<RunClones>;

/** Runs are open while there are few enough to be seen at once. */
const MOST_OPEN = 3;
/** A machine that has told nothing new of a run for so long is shown faintly. */
const STALE_MS = 24 * 3_600_000;
const OTHER = { label: "cannot be told", icon: icon("warning", BAD) };

/** Top rows: the runs that go on somewhere, then those that are over everywhere in one row; of several projects a row each. */
export function fleetRows(boards: readonly SharedBoard[], fetch: FetchClones, now: number): Row[] {
  if (boards.length === 1) return boardRows(boards[0]!, fetch, now);
  return boards.map((board) => ({
    id: `fleet/${board.project}`,
    label: oneLine(board.project, 40),
    description: plural(board.counts.runs, "run"),
    icon: icon("organization"),
    open: true,
    children: boardRows(board, fetch, now),
  }));
}

function boardRows(board: SharedBoard, fetch: FetchClones, now: number): Row[] {
  const all = [...board.runs.values()];
  const more = missingRuns(board);
  const isOpen = board.counts.going <= MOST_OPEN;
  const rowsOf = (over: boolean): Row[] =>
    all
      .filter((run) => (run.over && run.questions === 0) === over)
      .map((run) => ({ ...runRow(board, run, fetch, now), open: isOpen && !over }));
  const going = [...rowsOf(false), ...furtherRows(board.project, more.going, "going")];
  const finished = [...rowsOf(true), ...furtherRows(board.project, more.over, "over")];
  if (finished.length === 0) return going;
  return [
    ...going,
    {
      id: `fleet/${board.project}\nfinished`,
      label: "Finished",
      description: `${board.counts.runs - board.counts.going}`,
      icon: icon("archive"),
      children: finished,
    },
  ];
}

const furtherRows = (project: string, count: number, page: PageKind): Row[] =>
  moreRows(`fleet/${project}`, "fleet", count, page).map((row) => ({
    ...row,
    subject: { root: "", run: "", page, project },
  }));

function runRow(board: SharedBoard, run: SharedRun, fetch: FetchClones, now: number): Row {
  const { newest, machines } = run;
  const id = `fleet/${board.project}\n${run.run}`;
  const where = machines === 1 ? machineName(board, newest.member) : plural(machines, "machine");
  return {
    id,
    label: titleOf(run),
    description: [
      run.differs ? "clones differ" : stateLabel(newest),
      ...progressLabels(newest),
      where,
      ago(newest.at, now),
    ]
      .filter(Boolean)
      .join(" · "),
    tooltip: [
      titleOf(run),
      oneLine(run.run, 400),
      `${oneLine(run.workflow)} in ${plural(run.clones, "clone")} on ${plural(machines, "machine")}`,
      `${stateLabel(newest)} on ${oneLine(newest.member)}, told ${formatMinute(newest.at)}`,
      ...(run.questions ? [`${plural(run.questions, "question")} to people`] : []),
    ],
    icon: runIcon(run, now),
    iconLabel: run.differs ? "warning" : run.questions ? "a person is asked" : undefined,
    children: async () => cloneRows(board, await fetch(board.project, run.run), id, now),
  };
}

function runIcon(run: SharedRun, now: number): Icon {
  if (run.differs) return icon("warning", WAITING);
  return run.questions > 0 ? icon("bell-dot", WAITING) : cloneIcon(run.newest, now);
}

/** Below a run: both sides where clones differ, the open questions, and a row for each clone. */
function cloneRows(board: SharedBoard, { clones, more }: RunClones, id: string, now: number): Row[] {
  const further: Row = {
    id: `${id}/more`,
    label: `… ${more} more`,
    tooltip: ["phasekeeper status --fleet shows them all"],
    icon: icon("ellipsis", FAINT),
  };
  return [
    ...differenceRows(board, clones, id),
    ...questionRows(board, clones, id),
    ...clones.map((clone) => cloneRow(board, clone, clones, id, now)),
    ...(more > 0 ? [further] : []),
  ];
}

/** The commits of clones that stand at other revisions, beside each other; nothing where all are alike. */
function differenceRows(board: SharedBoard, clones: readonly Clone[], id: string): Row[] {
  const sides = new Map<string, Clone[]>();
  for (const clone of clones) sides.set(clone.revision, [...(sides.get(clone.revision) ?? []), clone]);
  if (sides.size < 2) return [];
  const all = [...sides.values()];
  const commits = [...new Set(clones.map(shortCommit))];
  const named = commits.length > 3 ? [...commits.slice(0, 2), `${commits.length - 2} more`] : commits;
  return [
    {
      id: `${id}/difference`,
      label: commits.length === 1 ? `Files differ at ${commits[0]}` : named.join(" ≠ "),
      description: all.map((side) => membersLabel(board, side)).join(" ≠ "),
      tooltip: [
        "These clones hold other files of the run:",
        ...all.map((side) => {
          const { revision } = side[0]!;
          const commit = [...new Set(side.map(shortCommit))].join(", ");
          return `${membersLabel(board, side)}: commit ${commit}, revision ${oneLine(revision, 12)}`;
        }),
      ],
      icon: icon("git-compare", WAITING),
      iconLabel: "clones differ",
    },
  ];
}

/** Each open question once, with the machines on which it waits. */
function questionRows(board: SharedBoard, clones: readonly Clone[], id: string): Row[] {
  const asking = new Map<string, Clone[]>();
  for (const clone of clones)
    for (const question of clone.questions) asking.set(question, [...(asking.get(question) ?? []), clone]);
  return [...asking].map(([question, waiting]) => {
    const text = waiting.map((clone) => clone.asked[clone.questions.indexOf(question)]).find(Boolean) ?? question;
    const here = waiting.find((clone) => clone.root !== null);
    const where = membersLabel(board, waiting);
    return {
      id: `${id}/question/${question}`,
      label: oneLine(text),
      description: here ? "waits for you" : `waits on ${where}`,
      tooltip: [
        oneLine(text, 600),
        oneLine(question),
        here ? "Click to answer" : `It is answered where the files are: on ${where}`,
      ],
      icon: icon("bell-dot", WAITING),
      iconLabel: "a person is asked",
      ...(here && {
        context: "question",
        click: "answerQuestion" as const,
        subject: { root: here.root!, run: here.run, question },
      }),
    };
  });
}

function cloneRow(board: SharedBoard, clone: Clone, all: readonly Clone[], id: string, now: number): Row {
  const hasOthers = all.some((other) => other !== clone && other.member === clone.member);
  const name = clone.root !== null ? "this folder" : machineName(board, clone.member);
  const machine = hasOthers && clone.root === null ? `${name} (${oneLine(clone.clone, 6)})` : name;
  return {
    id: `${id}/clone/${clone.member}/${clone.clone}`,
    label: stateLabel(clone),
    description: [machine, ...progressLabels(clone), ago(clone.at, now), shortCommit(clone)]
      .filter(Boolean)
      .join(" · "),
    tooltip: [
      `${stateLabel(clone)} on ${oneLine(clone.member)}`,
      ...(clone.reason ? [oneLine(clone.reason, 400)] : []),
      `next: ${oneLine(clone.next, 80)}`,
      `told ${formatMinute(clone.at)}, by that machine's clock`,
      `commit ${oneLine(clone.commit || "none")}, revision ${oneLine(clone.revision)}`,
    ],
    icon: cloneIcon(clone, now),
    iconLabel: isStale(clone, now) ? "told long ago" : undefined,
  };
}

type Standing = SharedRun["newest"];

const statusOf = ({ status }: Standing): { label: string; icon: Icon } =>
  Object.hasOwn(STATUS, status) ? STATUS[status as Summary["status"]] : OTHER;

/** How a clone stands, in few words: "Plan review", "Waits for a person", "Complete". */
function stateLabel({ status, phase, ...rest }: Standing): string {
  if (status === "active" && phase) return sentence(phase);
  return sentence(status === "waiting_human" ? "waits for a person" : statusOf({ status, phase, ...rest }).label);
}

/** What the words leave out: the phase in which it waits, and how much is done, as the runs have it: "4b", "2/4". */
function progressLabels({ status, phase, done, total }: Standing): string[] {
  const isNamed = status === "active" || ["complete", "failed", "exited"].includes(status);
  return [isNamed ? "" : oneLine(phase, 40), total > 0 ? `${done}/${total}` : ""].filter(Boolean);
}

function cloneIcon(clone: Standing, now: number): Icon {
  const usual = statusOf(clone).icon;
  return isStale(clone, now) ? icon(usual.name, FAINT) : usual;
}

const isStale = ({ at }: Standing, now: number): boolean => !(now - Date.parse(at) < STALE_MS);

/** How long ago something was told; a clock that runs ahead says "just now". */
const ago = (at: string, now: number): string => relative(at, Math.max(now, Date.parse(at)));

const shortCommit = ({ commit }: Clone): string => oneLine(commit.slice(0, 7) || "no commit");

const machineName = (board: SharedBoard, member: string): string =>
  member === board.member ? "this machine" : oneLine(member, 40);

/** Some machines by name: "ann", "ann, this machine", "ann and 3 more". */
function membersLabel(board: SharedBoard, clones: readonly Clone[]): string {
  const names = [...new Set(clones.map((clone) => machineName(board, clone.member)))];
  return names.length > 2 ? `${names[0]} and ${names.length - 1} more` : names.join(", ");
}

/** What stands above the rows: that servers are out of reach, or what is still to come. */
export function fleetMessage(boards: readonly SharedBoard[], problem: string): string | undefined {
  const notes = boards.flatMap(({ project, outage, isRead, counts }) => {
    const name = oneLine(project, 40);
    if (outage) {
      const since = `Out of reach since ${formatMinute(outage.since)}: ${oneLine(outage.why, 300)}.`;
      return [`${since} It is tried again.${isRead ? " The rows are as they were then." : ""}`];
    }
    if (!isRead) return [`Reading the board of ${name}…`];
    return counts.unread > 0 ? [`${plural(counts.unread, "row")} of ${name} cannot be read.`] : [];
  });
  return [...(problem ? [oneLine(problem, 600)] : []), ...notes].join(" ") || undefined;
}
