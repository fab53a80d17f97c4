"""`phasekeeper repair`: mends a run's journal and interrupted writes, and says what it did."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from ....orchestration.formats.json_text import read_json
from ....orchestration.journal.journal import Record
from ....orchestration.journal.lines import JOURNAL_NAME
from ....orchestration.sanitize import plain
from ....orchestration.snapshot.read_log import ArtifactState
from ....orchestration.vfs.files import File
from ...store.folder import StoreError
from ...store.log_file import BrokenLog
from ...store.recovery import RecoveryAction
from ...store.repair import RepairConsent, consent_lines, find_damage
from ...store.repair import repair as repair_run
from ...terminal.lines import PATH_LIMIT, Part, print_errors, print_lines
from ...workspace.git import actor
from ..confirm import NotConfirmed, confirm
from ..output import OK, REFUSED, print_json
from ..selection import SelectedRun, select_runs

_DID = {
    "finished": "an interrupted write was finished",
    "removed": "what a write that never counted had left was removed",
    "cut": "a line that was cut off while it was written was cut away",
    "conflict": "somebody else had changed it; the recorded text lies beside it",
    "dropped": "lines that cannot be read were taken out; the whole journal was copied before",
    "relinked": "its branches were linked together; all their records count",
    "restored": "the last good text was put back; the broken one was copied before",
}


def repair(options: Namespace) -> int:
    """`repair`: mend a run. Refused where a person does not agree to what would count then, where lines would
    have to be taken out, or where nothing good can be found."""
    [run] = select_runs(options).runs
    root = run.workspace.root
    try:
        agreed, refusals = _agreed(options, run)
        if refusals and options.drop_bad_lines:
            print_errors(refusals)
            return REFUSED
        mended, missing = _repaired(options, run, agreed)
    except StoreError as error:
        hint = (
            "; --drop-bad-lines takes such lines out and keeps a copy" if isinstance(error, BrokenLog) else ""
        )
        print_errors([f"phasekeeper: {plain(str(error), 600)}{hint}"])
        return REFUSED
    if options.json:
        print_json({"root": str(root), "run": run.match.run, "mended": _as_json(mended)})
    else:
        print_lines(_lines(mended) if mended or not refusals else ())
    left = [*refusals, *([missing] if missing else [])]
    print_errors(left)
    return REFUSED if left else OK


def _repaired(
    options: Namespace, run: SelectedRun, agreed: RepairConsent
) -> tuple[tuple[RecoveryAction, ...], str]:
    """(what was mended, "" or why no state file could be restored that is broken)"""
    place = run.workspace.root, run.match.run
    mended = repair_run(*place, drop_bad_lines=options.drop_bad_lines, agreed=agreed)
    if not options.restore:
        return mended, ""
    # Only now the newest recorded text may lie beside the state file: an interrupted write had it at work.
    restore, missing = _restore(select_runs(options).runs[0])
    return mended + (repair_run(*place, restore=restore, agreed=agreed) if restore else ()), missing


def _agreed(options: Namespace, run: SelectedRun) -> tuple[RepairConsent, list[str]]:
    """(what a person agreed to, why not). A person is only asked where something begins to count."""
    found = find_damage(run.workspace.root, run.match.run)
    said = list(consent_lines(found, options.drop_bad_lines))
    heads = [branch.head for branch in found.branches]
    if not said:
        return RepairConsent(heads), []
    try:
        confirm([f"{run.name}: what {JOURNAL_NAME} holds is yours to decide", *said], run.name)
    except NotConfirmed as error:
        return RepairConsent(()), [f"phasekeeper: {plain(str(error))}; what did not count still does not"]
    return RepairConsent(heads, actor(run.workspace.root), "terminal"), []


def _as_json(mended: tuple[RecoveryAction, ...]) -> list[dict[str, str | None]]:
    return [{"path": each.path, "did": each.kind, "kept": each.saved_as} for each in mended]


def _lines(mended: tuple[RecoveryAction, ...]) -> Iterator[list[Part]]:
    if not mended:
        yield [Part("nothing is to be mended", "good")]
    for each in mended:
        kept = f" ({plain(each.saved_as, PATH_LIMIT)})" if each.saved_as else ""
        yield [Part(plain(each.path, PATH_LIMIT), "run"), Part(f": {_DID.get(each.kind, each.kind)}{kept}")]


def _restore(run: SelectedRun) -> tuple[dict[str, str], str]:
    """({path: good text} for a broken state file, "") or ({}, why there is none)."""
    snapshot = run.look().facts.snapshot
    state = snapshot.state
    if state is None or state.valid:
        return {}, ""
    recorded = _recorded(snapshot.records, state.path)
    good = _good_copies(run, state)
    ranked = [file for digest in recorded for file in good if file.digest == digest] or good
    if ranked and ranked[0].text is not None:
        return {state.path: ranked[0].text}, ""
    where = plain(state.path, PATH_LIMIT)
    return {}, f"phasekeeper: no good copy of {where} lies beside it; `git log -p` may know one"


def _recorded(records: Sequence[Record], path: str) -> list[str]:
    """The digests that the journal knows of a file, the newest first."""
    files = [item for entry in reversed(records) for item in _items(entry["files"])]
    return [str(item.get("digest")) for item in files if isinstance(item, dict) and item.get("path") == path]


def _items(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _good_copies(run: SelectedRun, state: ArtifactState) -> list[File]:
    """Files beside the state file whose names begin with its own and that hold a JSON object, newest first.

    Those are backups, texts that a conflict left, and what an earlier repair copied aside.
    """
    files, place = run.workspace.files, PurePosixPath(state.path)
    folder = "" if str(place.parent) == "." else str(place.parent)
    names = [name for name in files.list(folder) if name != place.name and name.startswith(place.name)]
    read = [files.read(str(place.parent / name)) for name in names]
    good = [file for file in read if file.text and isinstance(read_json(file.text).data, dict)]
    return sorted(good, key=lambda file: file.mtime_ns, reverse=True)
