"""The editor's side: the Language Server Protocol over the engine's boards. It decides nothing.

`server.serve_lsp` serves one editor. Beside the protocol's own messages (diagnostics, code actions, code
lenses, hover, completion, definition, references, document symbols, commands) these are Phasekeeper's own.
Lines and columns in their JSON are one-based and count code points, as everywhere but in the protocol.

Requests:
    phasekeeper/board    {}                            {version: 1, roots: [{root, version, runs: [SUMMARY]}]}
                         {limit}                       a page of each root; in each `next`, the cursor behind
                                                       it, null at the end, and `counts` of all runs: {runs,
                                                       going, questions}
                         {root, limit, after}          the page of a root behind a cursor
                         {root, around: path}          the innermost run around a path of the root, as a page
    phasekeeper/run      {root, run}                   the whole evaluation, null without the run
    phasekeeper/lost     {root, run, workflow}         {because, path}: why a folder that was a run of that
                                                       workflow is none any more, and its file that was
                                                       the sign of one; null for a run, and without the file
    phasekeeper/history  {root, run, limit}            {events: [record]}, the newest `limit` of the journal
    phasekeeper/recent   {limit}                       {events: [record + {root, run}]}, of all journals, the
                                                       newest `limit`, the newest first
    phasekeeper/graph    {root, run}                   {mermaid, phases, edges, gates, actions};
                                                       null without the run
    phasekeeper/page     {root, run}                   the value of `rendering/run_page.py`, of the files on
                                                       disk, with `unsaved`: [path] of which the editor
                                                       holds other texts, and `absent`: [path] of those
                                                       named that are not there; null without the run
Requests about the machines of a fleet, which share the board of a project; its texts are theirs:
    phasekeeper/fleet    {}                            {fleets: [{project, member, roots: [root]}], problem}:
                                                       the joined projects of the client's roots, who this
                                                       machine is there, and why none can be used, or ""
    phasekeeper/fleetBoard  {project, limit, after?}   {project, version, isRead, outage: {since, why} | null,
                                                       counts, runs: [SHARED], next}: a page; from now on the
                                                       client is told of changes. There are no runs before
                                                       `isRead`; in an outage they are as they were
    phasekeeper/fleetRun {project, run}                {clones: [CLONE], more}: in each clone, at most 200
    phasekeeper/fleetHidden  {project}                 {}: the client shows the board no more
`counts` are {runs, going, questions, differing, unread}. A SHARED is {run, title, workflow, machines, clones,
questions, differs, over, version, newest}: how many machines, clones and questions there are, and of the one
that was told last its member, status, phase, done, total and at. A CLONE is a `shared_board.RunSummary`, with
`root` where it is one of the client's.
Requests that write; refused (-32803, with the reason) unless the connection is trusted:
    phasekeeper/report   {root, run, step, outcome, tasks?, stage?, summary?, next?, failed?, manual?, data?}
    phasekeeper/claim    {root, run, task, who}
    phasekeeper/release  {root, run, task, confirmed?}; {recorded: "", confirm: lines} where a person has to
                         read that somebody else's claim ends; `confirmed` are the lines that were read
    phasekeeper/start    {root, workflow, name, title}
    phasekeeper/redo     {root, run, phase, reason}
    phasekeeper/decide   {root, run, kind: answer | override | adopt, question, option, to, complete?, reason,
                         revision}; adopt with `complete` closes a plan that is finished
They answer {recorded, evaluation: SUMMARY}, and that of a claim has `claim`: {root, run, task, who, token}.
Request before a decision, for the dialog of the client's own; it is refused as `phasekeeper/decide` is:
    phasekeeper/prepareDecision  {root, run, kind, question, option, to}, or {root, run, kind: redo, phase}
                                                       {title, lines: [text], revision, unsaved: [path]}
    `lines` are all that the person has to read, safe to show as plain text: for an override each gate that it
    waives with its status and each phase that goes without its files; for an answer the option and what
    follows from it, of every option where none is named; for a redo how the run stands then. It is about the
    files on disk: `unsaved` are those that the editor holds other texts of. `phasekeeper/decide` with this
    `revision` is refused once the run has moved on.
Requests about the checks of a gate (of those in force without `gate`), refused as those that write are:
    phasekeeper/gateChecks  {root, run, gate?}         {checks: [name], questions: [{check, definition, title,
                                                       lines}]}: what a person has to allow before they run
    phasekeeper/trustCheck  {root, run, check, definition}
                                                       what the person read is allowed; refused as
                                                       `phasekeeper/decide` is, and once it is another
    phasekeeper/runChecks   {root, run, checks, again?, workDoneToken?}
                                                       {outcomes: [{name, result, reason, ran, log, tail}]};
                                                       `$/progress` tells how far they are, `$/cancelRequest`
                                                       ends them. What nobody allowed does not run
A SUMMARY is part of an evaluation with `gates` in short, `findingCounts`, and the titles of what it names by
ids: `phaseTitle`, `nextTitle`, `taskTitles` of the first tasks at hand and of those of questions, and
`phaseTitles` of what led to questions. A record of `recent` has `phaseTitles` and `taskTitles`, too.
A request for a root that is being opened is answered once that was looked at, or refused after 30 s;
`board` and `recent` leave out what is not there after 5 s.
Notification to the client:
    phasekeeper/changed  {root, version, changed: [SUMMARY], removed: [run], counts, anew: false}
    phasekeeper/fleetChanged  {project, version, isRead, outage, counts, changed: [SHARED], removed: [run],
                               anew: false}: what changes within a quarter of a second comes in one
Pages have at most 500 runs: first those that wait for a person, then those that go on, then those that are
over. A client that has asked for one, or says `pages: true`, is told of changes in runs that it does not
hold, too; where more than 500 differ, `anew` is true, nothing is listed, and it asks for the first page once
more. A page of an older version than what the client knows of the root is to be asked for again.

`initializationOptions` are {trusted: bool, phasekeeper: {client: text, decides: bool, pages: bool, claims:
[CLAIM]}}; `claims` are those that an earlier connection was answered, which stay the editor's by that. A
connection is not trusted unless it says so; then nothing is written for it. `phasekeeper/decide` is only
for a client that says `client: vscode, decides: true`, which shows the person a dialog of its own; everybody
else decides through `window/showMessageRequest`, or on a terminal where a reason has to be typed. That client
is offered the command `phasekeeper.override` {root, run, to}, and carries it out by `phasekeeper/decide`.
"""
