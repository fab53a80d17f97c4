"""The commands, in one table: name, help, arguments, and the function that carries the command out.

To add a command: one function in `commands/` and one entry here. Functions are named by text and imported
when they are called, for a command line that only asks for help or for another command pays for no engine.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ..connector.command_call import COLD
from . import help_texts as texts
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
_KEY = option(
    "--key", "FILE", "the SSH key that signs it, where SSH keys do (default: git's user.signingkey)"
)
_WHY = (_REASON, _KEY)
_TASKS = several("--task", "ID", "the tasks it is about")
_STANDALONE = flag("--standalone", "in this process alone, without a socket")
_CONNECTION = (_STANDALONE, arg("--stdio", action="store_true", help=argparse.SUPPRESS))
_CHOICE = (
    _RUN,
    *_DECIDING,
    word("question", "its id, as `questions` shows it; asked for on a terminal", nargs="?"),
    word("option", "one of its options; asked for on a terminal", nargs="?"),
    *_WHY,
    flag("--fleet", "a question of another machine, whose server records the answer that is signed here"),
    option("--on", "MACHINE", "with --fleet: the machine that asks, where several do"),
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
_CLIENTS = ("claude", "codex", "gemini", "copilot", "cursor", "vscode")
_PROJECT = option("--project", "ID", "its id (default: `fleet: {project: ID}` of the configuration)")
_TLS = {
    "--tls-cert": "the server's certificate; needed where others reach the address",
    "--tls-key": "and its key",
    "--ca": "the authority that signed it, where the system does not know it",
}
_PROGRAMS = (*_CLIENTS, "git", "pre-commit", "github")
_FOR = f"deny decisions to these: {', '.join(_ASSISTANTS)}"

# ---- the table --------------------------------------------------------------------------------

GROUPS = {
    "workflow": "the workflows: list, show, lint, graph",
    "fleet": "machines that share claims and a board: up, join, status, leave",
}
"""Commands that have commands of their own, and their help."""
COMMANDS: list[CommandEntry] = [
    command(
        "status",
        "every run: status, phase, next step, shut gates, questions",
        "read:status",
        *_READING,
        flag("--oneline", "a line for each run"),
        flag("--waiting", "those alone in which a person is awaited"),
        flag("--fleet", "the runs of the project on every machine, and where clones differ"),
    ),
    command(
        "next",
        "the next step, why, and on what evidence",
        "read:next_step",
        *_READING,
        _PLAN,
        more=texts.NEXT,
    ),
    command(
        "gates",
        "the gates, their criteria and the evidence for each",
        "read:gates",
        *_READING,
        more=texts.GATES,
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
        "whether a phase or action may be done, or a file be written now, and why",
        "read:can",
        _RUN,
        word("step", "a phase or an action of its workflow", nargs="?"),
        option("--write", "FILE", "may this file be written, from the root"),
        *_READING[:2],
        *_READING[3:],
        more=texts.CAN,
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
        more=texts.CHECK,
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
        more=texts.REPORT,
    ),
    command(
        "escalate",
        "put a question to a person",
        "write:escalate",
        *_ON_RUN,
        word("question", "what a person has to decide, and why"),
        _TASKS,
        *_BY,
        more=texts.ESCALATE,
    ),
    command("answer", "choose an option of an open question", "decide:answer", *_CHOICE, more=texts.ANSWER),
    command(
        "approve",
        "choose the first option of an approval",
        "decide:approve",
        _RUN,
        *_DECIDING,
        word("question", "where more than one is open", nargs="?"),
        *_WHY,
        more=texts.DECISION,
    ),
    command("resolve", "the same as answer", "decide:answer", *_CHOICE, more=texts.ANSWER),
    command(
        "adopt",
        "let plans count that were under way before anyone approved them",
        "decide:adopt",
        word("run", "the run", nargs="?"),
        flag("--all", "every run that waits for it"),
        flag("--complete", "close plans whose tasks are all done, instead of going on with them"),
        *_WHY,
        *_DECIDING,
        more=texts.DECISION,
    ),
    command(
        "override",
        "go against a suggestion or a shut gate",
        "decide:override",
        _RUN,
        *_DECIDING,
        option("--to", "PHASE", "the phase to go to", required=True),
        *_WHY,
        flag("--fleet", "a run on another machine, whose server records what is signed here"),
        option("--on", "MACHINE", "with --fleet: the machine, where several have the run"),
        more=texts.DECISION,
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
        more=texts.HISTORY,
    ),
    command(
        "merge-journal",
        "merge two branches' journals, or marks of a plan, as a merge driver of git",
        "repair:merge_journal",
        word("base", "the file as both branches had it (%%O)"),
        word("ours", "the file of this branch, which is written (%%A)"),
        word("theirs", "the file of the other branch (%%B)"),
        word("path", "where the file stands in the repository (%%P)"),
        more=texts.MERGE,
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
        more=texts.REPAIR,
    ),
    command(
        "init",
        "set a repository up for runs that people and assistants share",
        "init:init",
        flag("--yes", "write without asking"),
        several("--for", "ASSISTANT", _FOR, dest="assistants", choices=_ASSISTANTS),
        _ROOT,
        more=texts.INIT,
    ),
    command(
        "install",
        "fences in assistants, git and builds, each in its program's own file",
        "install:install",
        word("programs", f"which: {', '.join(_PROGRAMS)}", nargs="+", choices=_PROGRAMS),
        flag("--undo", "take out what this command wrote"),
        flag("--yes", "write without asking"),
        _ROOT,
        more=texts.INSTALL,
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
        more=texts.VERIFY,
    ),
    command(
        "trust",
        "allow what a check runs, as it is now",
        "verify:trust",
        word("checks", "checks of the configuration (default: all that wait for it)", nargs="*"),
        _ROOT,
        more=texts.TRUST,
    ),
    command(
        "guard",
        "which runs assistants may not pass the gates of",
        "init:guard",
        word("switch", "on or off (default: say what is guarded)", nargs="?", choices=("on", "off")),
        word("run", "a run (default: every run)", nargs="?"),
        option("--fail", "HOW", "where no verdict can be had: open or closed", choices=("open", "closed")),
        _ROOT,
        _JSON,
        more=texts.GUARD,
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
        more=texts.SERVE,
    ),
    command(
        "fleet up",
        "a server for a team that has none, until Ctrl-C; this machine joins it",
        "fleet:up",
        _PROJECT,
        several("--member", "NAME", "more machines, each of which gets a file with its key"),
        option("--as", "NAME", "this machine's name (default: the host's)", dest="who"),
        option("--listen", "HOST", "the address to listen at (default: 127.0.0.1)", default="127.0.0.1"),
        option("--port", "PORT", "and its port (default: 4222)", type=port, default=4222),
        *(option(name, "FILE", about, type=Path) for name, about in _TLS.items()),
        _ROOT,
        more=texts.FLEET_UP,
    ),
    command(
        "fleet join",
        "take part in a project from now on, on the servers that are named",
        "fleet:join",
        word("url", "tls://HOST:PORT; nats://127.0.0.1:PORT on this machine", nargs="+"),
        _PROJECT,
        option(
            "--as", "NAME", "this machine's name (default: that of the key's file, or the host's)", dest="who"
        ),
        option("--nkey", "FILE", "the key that `fleet up` made for this machine", type=Path),
        option("--credentials", "FILE", "a credentials file of NATS instead", type=Path),
        option("--ca", "FILE", "the authority that signed the server's certificate", type=Path),
        _ROOT,
        more=texts.FLEET_JOIN,
    ),
    command(
        "fleet status",
        "the fleets of this machine, who has which task, and what became of answers",
        "fleet:status",
        _JSON,
    ),
    command("fleet leave", "take part in a project no more", "fleet:leave", _PROJECT, _ROOT),
    # `main` runs these two itself, for an editor waits for them.
    *(
        command(
            kind,
            f"the connection of {who} ({kind.upper()} on stdin and stdout)",
            "",
            *_CONNECTION,
            more=texts.CONNECT.format(who=who, protocol=kind.upper()),
        )
        for kind, who in (("lsp", "an editor"), ("mcp", "a coding assistant"))
    ),
    command(
        "hook",
        "the answer to a hook of a coding assistant, whose event is on stdin",
        "",
        word("client", f"which program: {', '.join(_CLIENTS)}", choices=_CLIENTS),
        word("event", "the program's name of the event"),
        more=texts.HOOK,
    ),
    command(
        "doctor", "what runs, is watched and found, and is wrong", "doctor:doctor", _JSON, more=texts.DOCTOR
    ),
    command(
        "demo",
        "copy small examples of all five workflows and show their status",
        "init:demo",
        word("dir", f"a new folder ({_DEMO})", nargs="?", type=Path, default=_DEMO),
    ),
]
