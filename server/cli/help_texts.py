"""What `--help` says below the arguments of a command: exit codes, what is written, an example."""

NEXT = """\
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
GATES = """\
A gate that is open lacks evidence for a criterion; one that is failed has
evidence against it. What it allows may be done once it has passed; what it
forbids is forbidden while it is in force.
"""
CAN = """\
exit codes: 0 yes, 1 no, 3 not before a person answers, 2 wrong use

examples: phasekeeper can late-fees test
          phasekeeper can late-fees --write src/fees.py
"""
CHECK = """\
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
REPORT = """\
The report is recorded, its effects are written, and the new next step is
printed. A report that is not in its turn is refused.

exit codes: 0 recorded, 1 refused, 3 recorded and a person is awaited, 2 wrong use

example: phasekeeper report late-fees codegen ok --summary "fees are rounded"
"""
ESCALATE = """\
For whoever cannot go on alone. The question is open until a person answers it:
`continue` lets the run go on, `stop` stops it.

exit codes: 3 a person is awaited, 1 refused, 2 wrong use
"""
DECISION = """\
A decision is a person's: it is asked for on a terminal, where the run's name
is typed. Nothing gets round that. The reason is recorded with who decided.

Where the commit HEAD has `decide: {ssh: true}` it is signed with your SSH key: the
one of --key, else git's user.signingkey (gpg.format ssh), by an agent if one runs.
It counts for everyone where .phasekeeper/allowed_signers in HEAD lists your key
under the address that git has as your user.email.
"""
ANSWER = f"""\
{DECISION}
With --fleet it is a question of another machine of the project (`phasekeeper status
--fleet` lists them). What is decided is shown from this clone where it has the run as
it stands there, else in the words that the project shares. The answer is signed with
your SSH key, sent, and counts once the server of that machine has verified and recorded
it; `phasekeeper fleet status` tells what became of it.

example: phasekeeper answer --fleet work/books go_on yes --reason "looked at it"
"""
HISTORY = """\
A line a record: when, what, who, why, and what came of it. --events names each
by the lifecycle event it is (session.started, loop.phase.complete, ...).

exit codes: 0, 1 the journal cannot be trusted, 2 wrong use
"""
MERGE = """\
git calls it once `phasekeeper install git` has told it to, in this clone, or by hand:

  git config merge.phasekeeper.driver "phasekeeper merge-journal %O %A %B %P"
  echo "**/.phasekeeper/journal.jsonl merge=phasekeeper" >> .git/info/attributes
  echo "**/MASTER_PLAN.md merge=phasekeeper" >> .git/info/attributes

All lines of both journals are kept; records of different tasks count at once. Ticks of different rows of a
plan are both kept, and its totals are counted anew. Everything else is merged as git does it.
"""
REPAIR = """\
Finishes interrupted writes, removes what they left (copied before), links a forked
journal's branches, and lets decisions count that you signed with an earlier version
or before the folder was moved. A person sees all that counts then and agrees to it
on a terminal, where the run's name is typed.

exit codes: 0 done, 1 refused, 2 wrong use
"""
INIT = """\
Shows what it will write, and asks. Files that exist are only added to:
  .phasekeeper/config.yaml   the parameters there are, commented out
  .gitattributes             journals are merged line by line
  .gitignore                 claims and locks stay on this machine
  .claude/settings.json, .codex/rules/, .cursor/cli.json, .gemini/policies/
                             decisions and Phasekeeper's files are denied to assistants:
                             Claude Code, and the others whose folder is there

exit codes: 0 done, 1 refused, 2 wrong use
"""
VERIFY = """\
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
TRUST = """\
Shows what a check runs, or what changed in it since it was allowed, and asks on a
terminal, where the check's name is typed. What is allowed is kept in your own folder,
for exactly this command and these files; any change asks again. It accepts, too,
that there are fewer tests than there were.

exit codes: 0 allowed, 1 not allowed, 2 wrong use
"""
SERVE = """\
Watches the roots and shows their runs, drawn again when something changed; in
a pipe a line for each change. One server a user serves all editors and
assistants. Where one runs already, this looks through it; it takes its place
when it ends.

exit codes: 0 ended by Ctrl-C, 2 wrong use
"""
CONNECT = """\
This is what {who} starts. It speaks {protocol} on its standard streams
through the server of this user, which is started when there is none; without
one it runs by itself and says so. PHASEKEEPER_WAIT_S is how many seconds are
waited for the server (default: 2).

exit codes: 0, 1 the server ended before its client
"""
DOCTOR = """\
The server, its clients and roots, what is watched and found, the folders and
their permissions, versions; each installed fence, tried by a call that it has to
deny; and what is wrong, with the command that mends it.

exit codes: 0 nothing is wrong, 1 something is
"""
GUARD = """\
Without `on` or `off` it says what is guarded. In guarded runs the hooks of coding
assistants refuse what a shut gate forbids (`phasekeeper hook`). Anybody may turn a
guard on; off is a person's, who types its name on a terminal. Kept in
.phasekeeper/config.yaml; once that is committed, taking it away counts when that is.

exit codes: 0, 1 nothing was changed, 2 wrong use

example: phasekeeper guard on
"""
HOOK = """\
Reads the event that an assistant's program has on stdin, and prints the answer in
that program's own form: nothing, or a refusal with its reason. By the running server
where there is one.

exit codes: 0, 2 a refusal (where the guard fails closed and there is no verdict)
"""
INSTALL = """\
Shows what it will write, as a difference, and asks. What stands in a file stays:
  claude, codex, gemini, copilot, cursor, vscode
              hooks that ask before each call of a tool, and refuse what guarded
              runs forbid
  git         the hooks pre-commit and pre-push: failed gates stop a commit or push;
              and a merge driver for journals and plans, in this clone
  pre-commit  the same by .pre-commit-config.yaml
  github      a workflow and its action: measures, asks the gates, annotates,
              uploads SARIF
`phasekeeper doctor` tries each of them.

exit codes: 0 done, 1 something was left alone, 2 wrong use

example: phasekeeper install claude git
"""

FLEET_UP = """\
Starts one nats-server, which keeps claims and the board of the project in your
folder for application state. The files of your repositories stay the truth:
what the server has can be made anew from them.

Commit the project's id, so that every clone knows it:
  .phasekeeper/config.yaml:  fleet: {project: library}

Each member gets a file with a key. Carry it to that machine by a safe way, and
there say what is printed here.

example: phasekeeper fleet up --project library --member ann-laptop --member ci
"""
FLEET_JOIN = """\
The servers, your name and the key are kept in your own folder for application
state, readable by you alone; no workspace can say where to connect. Off this
machine TLS is needed. Several URLs are servers of one cluster.

example: phasekeeper fleet join tls://fleet.example.org:4222 --nkey ann-laptop.nk
"""
