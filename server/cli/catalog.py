"""The commands, in one table: name, help, arguments, and the function that carries the command out.

To add a command: one function in `commands/` and one entry here. Functions are named by text and imported
when they are called, for a command line that only asks for help or for another command pays for no engine.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..connector.command_call import COLD
from .command_entry import CommandEntry, arg, command, flag, option, port, several, word

# ---- arguments that several commands have -----------------------------------------------------

_PATH = word(
    "path",
    "a file or folder of the work, or a run's name; inside a run it means that run (default: .)",
    nargs="?",
    type=Path,
    default=Path(),
)
_ROOT_OF_PATH = option("--root", "DIR", "the root, instead of the one around PATH", type=Path)
_ROOT = option("--root", "DIR", "the root, instead of the one around .", type=Path)
_RUN = word("run", "the run")
_ONE_RUN = option("--run", "RUN", "this run only")
_JSON = flag("--json", "the answer as JSON")
_PLAN = flag("--plan", "with --json: all tasks of the plan, not only those at hand")
_COLD = flag(COLD, "look at the files in this process, without asking the server")
_READING = (_PATH, _ROOT_OF_PATH, _ONE_RUN, _JSON, _COLD)
# What writes answers with the evaluation that comes of it.
_DECIDING = (_ROOT, flag("--json", "the run's evaluation as JSON"))
_WRITING = (*_DECIDING, flag(COLD, "write in this process, without the server"))
_ON_RUN = (_RUN, *_WRITING)
_TOKEN = option("--token", "TOKEN", "the token of the claim on the task")
_ON_TASK = (*_ON_RUN, word("task", "the task"), _TOKEN)
_REASON = option("--reason", "TEXT", "why (needed)")
_TASKS = several("--task", "ID", "the tasks it is about")
_STANDALONE = flag("--standalone", "in this process alone, without a socket")
_CONNECTION = (_STANDALONE, arg("--stdio", action="store_true", help=argparse.SUPPRESS))
_CHOICE = (
    _RUN,
    *_DECIDING,
    word("question", "its id, as `questions` shows it"),
    word("option", "one of its options"),
    _REASON,
)
_AGAIN = "an id of yours for this call: repeated with the same, it is recorded once"
_BY = (option("--as", "WHO", "who says it", dest="who"), option("--request-id", "ID", _AGAIN, dest="request"))
_FORMATS = ("text", "json", "sarif", "github")
_BASES = ("measured", "decided", "recorded")
_BASIS = "with --gates: so does one that passed on less, as on a report's word alone"
_ALLOW = "an awaited person does not fail the check"
_HTTP = "serve assistants over HTTP on this machine, too (default port: 7425)"
_DEMO = Path("phasekeeper-demo")
_ASSISTANTS = ("claude", "codex", "cursor", "gemini")
_FOR = f"deny decisions to these: {', '.join(_ASSISTANTS)}"

# ---- what `--help` says below the arguments ---------------------------------------------------

_NEXT = """\
exit codes:
  0 there is a next step, or nothing is left to do
  1 nothing can go on, or nothing can be said
  3 a person is awaited
  2 wrong use, or a definition that is broken
With several runs 1 goes before 3, and 3 before 0.

--json prints the evaluation of one run when --run, or a PATH inside it,
asks for that run, else {"root": ROOT, "runs": [EVALUATION, ...]}. Each stage
of a plan has its counts, and those of its tasks that the step, a question or a
claim names; --plan lists all of them (then `whole` is true).
"""
_GATES = """\
A gate that is open lacks evidence for a criterion; one that is failed has
evidence against it. What it allows may be done once it has passed; what it
forbids is forbidden while it is in force.
"""
_CAN = """\
exit codes: 0 yes, 1 no, 3 not before a person answers, 2 wrong use

example: phasekeeper can late-fees test
"""
_CHECK = """\
exit codes:
  1 an error finding, or a failed gate with --gates, or a gate that passed on
    less than --basis asks for
  3 a person is awaited (0 with --allow waiting)
  0 neither
  2 wrong use, or a definition that is broken
The worst run counts. Findings that a person overrode do not.

A gate rests on something, the strongest first: measured (a check ran; there
is none yet), decided (a person did, with proof), recorded (a file that the
workflow names says so), reported (a report does, or what reports write).

example: phasekeeper check --gates --allow waiting --format github
"""
_REPORT = """\
The report is recorded, its effects are written, and the new next step is
printed. A report that is not in its turn is refused.

exit codes: 0 recorded, 1 refused, 3 recorded and a person is awaited, 2 wrong use

example: phasekeeper report late-fees codegen ok --summary "fees are rounded"
"""
_ESCALATE = """\
For whoever cannot go on alone. The question is open until a person answers it:
`continue` lets the run go on, `stop` stops it.

exit codes: 3 a person is awaited, 1 refused, 2 wrong use
"""
_DECISION = """\
A decision is a person's: it is asked for on a terminal, where the run's name
is typed. Nothing gets round that. The reason is recorded with who decided.
"""
_HISTORY = """\
A line a record: when, what, who, why, and what came of it. --events names each
by the lifecycle event it is (session.started, loop.phase.complete, ...).

exit codes: 0, 1 the journal cannot be trusted, 2 wrong use
"""
_REPAIR = """\
Finishes interrupted writes, removes what they left (copied before), links a forked
journal's branches, and lets decisions count that you signed with an earlier version
or before the folder was moved. A person sees all that counts then and agrees to it
on a terminal, where the run's name is typed.

exit codes: 0 done, 1 refused, 2 wrong use
"""
_INIT = """\
Shows what it will write, and asks. Files that exist are only added to:
  .phasekeeper/config.yaml   the parameters there are, commented out
  .gitattributes             journals are merged line by line
  .gitignore                 claims and locks stay on this machine
  .claude/settings.json, .codex/rules/, .cursor/cli.json, .gemini/policies/
                             decisions and Phasekeeper's files are denied to assistants:
                             Claude Code, and the others whose folder is there

exit codes: 0 done, 1 refused, 2 wrong use
"""
_VERIFY = """\
Runs checks of `.phasekeeper/config.yaml`, each in a process of its own, and
keeps what came of them in `.phasekeeper/evidence`, signed. One that has a result
for exactly these files is not run again. Nothing runs that no person allowed.

exit codes:
  0 all checks passed on the files as they are
  1 one failed, or changed what it ran on
  3 a person has to allow one first (`phasekeeper trust`)
  2 wrong use, or a configuration that is broken

example: phasekeeper verify tests lint
"""
_TRUST = """\
Shows what a check runs, or what changed in it since it was allowed, and asks on a
terminal, where the check's name is typed. What is allowed is kept in your own folder,
for exactly this command and these files; any change asks again. It accepts, too,
that there are fewer tests than there were.

exit codes: 0 allowed, 1 not allowed, 2 wrong use
"""
_SERVE = """\
Watches the roots and shows their runs, drawn again when something changed; in
a pipe a line for each change. One server a user serves all editors and
assistants. Where one runs already, this looks through it; it takes its place
when it ends.

exit codes: 0 ended by Ctrl-C, 2 wrong use
"""
_CONNECT = """\
This is what {who} starts. It speaks {protocol} on its standard streams
through the server of this user, which is started when there is none; without
one it runs by itself and says so. PHASEKEEPER_WAIT_S is how many seconds are
waited for the server (default: 2).

exit codes: 0, 1 the server ended before its client
"""
_DOCTOR = """\
The server, its clients and roots, what is watched and found, the folders and
their permissions, versions; and what is wrong, with the command that mends it.

exit codes: 0 nothing is wrong, 1 something is
"""

# ---- the table --------------------------------------------------------------------------------

GROUPS = {"workflow": "the workflows: list, show, lint, graph"}
"""Commands that have commands of their own, and their help."""
COMMANDS: list[CommandEntry] = [
    command("status", "every run: status, phase, next step, shut gates, questions", "read:status", *_READING),
    command(
        "next", "the next step, why, and on what evidence", "read:next_step", *_READING, _PLAN, more=_NEXT
    ),
    command(
        "gates", "the gates, their criteria and the evidence for each", "read:gates", *_READING, more=_GATES
    ),
    command("questions", "what a person is asked, with the options there are", "read:questions", *_READING),
    command(
        "escalations",
        "the questions that are escalations",
        "read:escalations",
        *_READING,
        flag("--markdown", "as Markdown, to be passed on"),
    ),
    command("explain", "every rule and criterion looked at, with the values seen", "read:explain", *_READING),
    command(
        "can",
        "whether a phase or action may be done now, and why",
        "read:can",
        _RUN,
        word("step", "a phase or an action of its workflow"),
        *_READING[:2],
        *_READING[3:],
        more=_CAN,
    ),
    command(
        "check",
        "findings with file, line and column, for people and builds",
        "read:check",
        *_READING[:3],
        arg("--format", choices=_FORMATS, default="text", help="how to print (default: text)"),
        flag("--gates", "a failed gate fails the check too"),
        arg("--basis", choices=_BASES, help=_BASIS),
        arg("--allow", choices=("waiting",), action="append", default=[], help=_ALLOW),
        flag("--hints", "print hints too"),
        _COLD,
        more=_CHECK,
    ),
    command("workflow list", "every workflow that is known here", "workflow:list_all", _ROOT_OF_PATH, _JSON),
    command(
        "workflow show",
        "one workflow: phases, gates, limits, questions",
        "workflow:show",
        word("name", "a workflow"),
        flag("--yaml", "the definition itself, to start your own from"),
        _ROOT_OF_PATH,
    ),
    command(
        "workflow lint",
        "check a definition; exit 2 if it cannot be used",
        "workflow:lint",
        arg("file", type=Path, metavar="FILE", help="a YAML file"),
        _JSON,
    ),
    command(
        "workflow graph",
        "a workflow or a run as a Mermaid diagram",
        "workflow:draw_graph",
        word("name", "a workflow", nargs="?"),
        option("--run", "RUN", "a run instead; where it stands is marked"),
        _ROOT_OF_PATH,
    ),
    command(
        "start",
        "a new run, its folder and first state, ready to work in",
        "write:start",
        word("workflow", "its workflow"),
        word("name", "its name"),
        arg("--title", help="what it is about"),
        *_WRITING,
    ),
    command(
        "report",
        "record what the work of a phase or action came to",
        "write:report",
        *_ON_RUN,
        word("step", "a phase or an action"),
        word("outcome", "one of the step's outcomes, as `ok` or `fail`"),
        _TASKS,
        several("--failed", "ID", "the tasks that failed"),
        option("--stage", "ID", "the stage of the plan, where no task tells it"),
        option("--next", "PHASE", "the phase to jump to"),
        several("--manual", "TEXT", "criteria that a person has to check"),
        option("--summary", "TEXT", "what was done, in a sentence"),
        option("--report", "FILE", "the text of the report, where the step needs one (- for standard input)"),
        option("--data", "FILE", "more data, a JSON object (- for standard input)"),
        *_BY,
        _TOKEN,
        more=_REPORT,
    ),
    command(
        "escalate",
        "put a question to a person",
        "write:escalate",
        *_ON_RUN,
        word("question", "what a person has to decide, and why"),
        _TASKS,
        *_BY,
        more=_ESCALATE,
    ),
    command("answer", "choose an option of an open question", "decide:answer", *_CHOICE, more=_DECISION),
    command(
        "approve",
        "choose the first option of an approval",
        "decide:approve",
        _RUN,
        *_DECIDING,
        word("question", "where more than one is open", nargs="?"),
        _REASON,
        more=_DECISION,
    ),
    command("resolve", "the same as answer", "decide:answer", *_CHOICE, more=_DECISION),
    command(
        "adopt",
        "let plans count that were under way before anyone approved them",
        "decide:adopt",
        word("run", "the run", nargs="?"),
        flag("--all", "every run that waits for it"),
        flag("--complete", "close plans whose tasks are all done, instead of going on with them"),
        _REASON,
        *_DECIDING,
        more=_DECISION,
    ),
    command(
        "override",
        "go against a suggestion or a shut gate",
        "decide:override",
        _RUN,
        *_DECIDING,
        option("--to", "PHASE", "the phase to go to", required=True),
        _REASON,
        more=_DECISION,
    ),
    command(
        "redo",
        "do a phase once more",
        "write:redo",
        *_ON_RUN,
        word("phase", "the phase, not a later one than the present"),
        arg("--reason", help="why"),
    ),
    command(
        "claim",
        "take a task, so that nobody else does",
        "write:claim",
        *_ON_TASK,
        option("--as", "WHO", "who takes it", dest="who", required=True),
        option("--ttl", "SECONDS", "how long it lasts (default: 3600)", type=int, default=3600),
    ),
    command(
        "release",
        "give a claimed task back",
        "write:release",
        *_ON_TASK,
        option("--as", "WHO", "who took it", dest="who"),
    ),
    command(
        "history",
        "what was recorded of a run",
        "history:history",
        _RUN,
        flag("--events", "in lifecycle events"),
        _JSON,
        _ROOT,
        _COLD,
        more=_HISTORY,
    ),
    command(
        "repair",
        "mend a run's journal and interrupted writes",
        "repair:repair",
        _RUN,
        flag("--drop-bad-lines", "take out lines that cannot be read"),
        flag("--restore", "put the last good state file back"),
        _JSON,
        _ROOT,
        more=_REPAIR,
    ),
    command(
        "init",
        "set a repository up for runs that people and assistants share",
        "init:init",
        flag("--yes", "write without asking"),
        several("--for", "ASSISTANT", _FOR, dest="assistants", choices=_ASSISTANTS),
        _ROOT,
        more=_INIT,
    ),
    command(
        "verify",
        "run the checks that have no result for the files as they are",
        "verify:verify",
        word(
            "checks",
            "checks of the configuration (default: all); before them PATH, a place in the root",
            nargs="*",
        ),
        flag("--again", "also those that have one"),
        flag("--trust-head", "for builds: run what the commit HEAD holds, without a person's word"),
        _ROOT,
        _JSON,
        flag("--json-lines", "for programs: a line of JSON for each event; ends with standard input"),
        more=_VERIFY,
    ),
    command(
        "trust",
        "allow what a check runs, as it is now",
        "verify:trust",
        word("checks", "checks of the configuration (default: all that wait for it)", nargs="*"),
        _ROOT,
        more=_TRUST,
    ),
    command(
        "serve",
        "the server, with a live view of the runs",
        "serve:serve",
        arg("roots", nargs="*", type=Path, metavar="ROOT", help="folders of work (default: .)"),
        _STANDALONE,
        option("--http", "PORT", _HTTP, nargs="?", type=port, const=7425),
        flag("--journal", "record report files in the journals as they appear"),
        flag("--stop", "end the server that runs"),
        arg("--background", action="store_true", help=argparse.SUPPRESS),
        more=_SERVE,
    ),
    # `main` runs these two itself, for an editor waits for them.
    *(
        command(
            kind,
            f"the connection of {who} ({kind.upper()} on stdin and stdout)",
            "",
            *_CONNECTION,
            more=_CONNECT.format(who=who, protocol=kind.upper()),
        )
        for kind, who in (("lsp", "an editor"), ("mcp", "a coding assistant"))
    ),
    command("doctor", "what runs, is watched and found, and is wrong", "doctor:doctor", _JSON, more=_DOCTOR),
    command(
        "demo",
        "copy small examples of all five workflows and show their status",
        "demo:demo",
        word("dir", f"a new folder ({_DEMO})", nargs="?", type=Path, default=_DEMO),
    ),
]


def decisions() -> list[str]:
    """The commands by which a person decides, in their order."""
    return [each.name for each in COMMANDS if each.run.startswith("decide:") or each.run == "verify:trust"]
