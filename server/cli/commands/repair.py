"""`phasekeeper repair`: mends a run's journal and interrupted writes, and says what it did; and
`phasekeeper merge-journal`, with which git merges journals so that there is less to mend."""

from __future__ import annotations

from argparse import Namespace
from functools import partial
from pathlib import Path

from ....orchestration.formats.json_text import read_json
from ....orchestration.journal.lines import JOURNAL_NAME
from ....orchestration.sanitize import plain
from ....orchestration.vfs.files import below, name_in, parent
from ...disk.git import actor
from ...store.folder import StoreError
from ...store.log_file import BrokenLog
from ...store.merge_driver import merge_files
from ...store.recovery import RecoveryAction
from ...terminal.lines import PATH_LIMIT, Part, print_errors, print_lines
from ...version import PROGRAM
from ...workspace.repair import NOTHING_AGREED, PreparedRepair, prepare_repair, repair_run
from ..confirm import NotConfirmed, confirm
from ..output import OK, REFUSED, USAGE, print_json
from ..selection import SelectedRun, means_run, select_runs

_DID = {
    "finished": "an interrupted write was finished",
    "removed": "what a write that never counted had left was removed",
    "cut": "a line that was cut off while it was written was cut away",
    "conflict": "somebody else had changed it; the recorded text lies beside it",
    "dropped": "lines that cannot be read were taken out; the whole journal was copied before",
    "relinked": "its branches were linked together; all their records count",
    "confirmed": "decisions that were signed elsewhere count here",
    "restored": "the last good text was put back; the broken one was copied before",
}


def repair(options: Namespace) -> int:
    """`repair`: mend a run. Refused where a person does not agree to what would count then, where lines would
    have to be taken out, or where nothing good can be found."""
    [run] = select_runs(options).runs
    root = run.workspace.root
    agreed, who, refusals = _consent(options, run)
    if refusals and options.drop_bad_lines:
        print_errors(refusals)
        return REFUSED
    actions, missing = _mend(options, run, agreed, who)
    if options.json:
        mended = [{"path": each.path, "did": each.kind, "kept": each.saved_as} for each in actions]
        print_json({"root": str(root), "run": run.match.run, "mended": mended})
    elif not (actions or refusals):
        print_lines([[Part("nothing is to be mended", "good")]])
    else:
        for each in actions:
            kept = f" ({plain(each.saved_as, PATH_LIMIT)})" if each.saved_as else ""
            done = f": {_DID.get(each.kind, each.kind)}{kept}"
            print_lines([[Part(plain(each.path, PATH_LIMIT), "run"), Part(done)]])
    print_errors([*refusals, *missing])
    return REFUSED if refusals or missing else OK


def _mend(
    options: Namespace, run: SelectedRun, agreed: PreparedRepair, who: str
) -> tuple[tuple[RecoveryAction, ...], list[str]]:
    """(what was done, why no broken state file could be restored). All that this command writes."""
    by = (who, "terminal", PROGRAM) if who else ("", "")
    mend = partial(repair_run, run.workspace, run.match.run, agreed, *by)
    try:
        actions = mend(drop_bad_lines=options.drop_bad_lines)
    except BrokenLog as error:
        raise StoreError(f"{error}; --drop-bad-lines takes such lines out and keeps a copy") from None
    if not options.restore:
        return actions, []
    # The newest recorded text lies beside the state file only once interrupted writes are finished.
    texts, missing = _restore(select_runs(options).runs[0])
    return actions + (mend(restore=texts) if texts else ()), missing


def _consent(options: Namespace, run: SelectedRun) -> tuple[PreparedRepair, str, list[str]]:
    """(what a person agreed to, who, why not). A person is only asked where something begins to count."""
    prepared = prepare_repair(run.workspace, run.match.run, drop_bad_lines=options.drop_bad_lines)
    if not prepared.lines:
        return prepared, "", []
    try:
        lines = [f"{run.name}: what {JOURNAL_NAME} holds is yours to decide", *prepared.lines]
        confirm(lines, run.name, is_name=lambda typed: means_run(options, run, typed))
    except NotConfirmed as error:
        return NOTHING_AGREED, "", [f"phasekeeper: {plain(str(error))}; what did not count still does not"]
    return prepared, actor(run.workspace.root), []


def _restore(run: SelectedRun) -> tuple[dict[str, str], list[str]]:
    """({path: good text} for a broken state file, why there is none).

    Good are files beside the state file whose names begin with its own and that hold a JSON object: backups,
    texts that a conflict left, and what an earlier repair copied aside. One that the journal knows goes
    before a newer one.
    """
    snapshot = run.look().facts.snapshot
    state = snapshot.state
    if state is None or state.valid:
        return {}, []
    lists = (record["files"] for record in reversed(snapshot.records))
    entries = (entry for files in lists if isinstance(files, list) for entry in files)
    digests = [
        str(entry.get("digest"))
        for entry in entries
        if isinstance(entry, dict) and entry.get("path") == state.path
    ]
    folder, name = parent(state.path), name_in(state.path)
    files = run.workspace.files
    names = [each for each in files.list(folder) if each != name and each.startswith(name)]
    copies = [files.read(below(folder, each)) for each in names]
    good = [file for file in copies if file.text and isinstance(read_json(file.text).data, dict)]
    good.sort(key=lambda file: file.mtime_ns, reverse=True)
    for file in [*(file for digest in digests for file in good if file.digest == digest), *good]:
        if file.text is not None:
            return {state.path: file.text}, []
    where = plain(state.path, PATH_LIMIT)
    return {}, [f"phasekeeper: no good copy of {where} lies beside it; `git log -p` may know one"]


def merge_journal(options: Namespace) -> int:
    """`merge-journal`: write what both sides changed into OURS. Refused where they contradict each other."""
    try:
        merged = merge_files(Path(options.base), Path(options.ours), Path(options.theirs), options.path)
    except OSError as error:
        print_errors([f"phasekeeper: {plain(str(error.filename))}: {error.strerror}"])
        return USAGE
    return OK if merged else REFUSED
