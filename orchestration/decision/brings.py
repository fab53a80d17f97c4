"""Comparison of a report with what its step says it must come with (`brings:` of a definition).

It is looked for in the report's text and data and in the files of the root. What cannot be told is missing.
`requirements` is all of it: a report that is handed in is refused without one of them, and what is said of a
step beforehand are those of a draft of its report.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Set
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple

from ..definition.inputs import Brings
from ..expressions.context import Context
from ..expressions.language import Expression
from ..expressions.queries import dig
from ..journal.journal import Record
from ..journal.report_criteria import judged_names, names_mentioned
from ..plans.schedule import resolve
from ..result.values import Requirement
from ..states import CheckResult, RecordKind, RequirementKind
from ..suggestions import did_you_mean
from ..vfs.files import join, name_in
from .facts import RunFacts

# Of the words of a report, so many that look like paths are looked up.
_MOST_WORDS = 100
# Of the tasks that a text leaves out, and of the files that are not there, so many are named.
_MOST_NAMED = 8
# A search begins at the start of a word alone: from each letter of a long one on it would take its square.
_PATH = re.compile(r"(?<![\w@+~-])[\w@+~-]*+(?:[./][\w@+~-]++)++")
_HOST = r"https://[A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?)*(?::\d{1,5})?"
_ADDRESS = re.compile(rf"{_HOST}/[^\s<>]+")
# A pull request as the forges number them: GitHub, Gitea, Bitbucket, Azure, GitLab, Gerrit, Launchpad,
# SourceHut, Phabricator.
_NUMBERED = r"(?:pull|pulls|pull-requests|pullrequest|merge_requests|\+merge|\+|patches)/\d+"
_PULL_REQUEST = re.compile(rf"{_HOST}/(?:[^\s<>?#]+/{_NUMBERED}|(?:[^\s<>?#]+/)?D\d+)(?:[/?#][^\s<>]*)?")
_FORMS = {"address": _ADDRESS, "pull-request": _PULL_REQUEST}
_COMMIT = re.compile(r"[0-9a-fA-F]{7,64}")
_KINDS: Mapping[str, tuple[type, ...]] = {
    "text": (str,), "number": (int, float), "list": (list,), "map": (dict,),
}  # fmt: skip
_WANTED = {
    "text": "text", "number": "a number", "list": "a list", "map": "a map",
    "address": "an address that begins with https://",
    "pull-request": "the https address of a pull request, as https://HOST/OWNER/NAME/pull/1 or "
    "https://HOST/GROUP/NAME/-/merge_requests/1",
    "commit": "a commit that the repository has",
}  # fmt: skip
# Of the files that may be missing, so many are looked for.
_MOST_FILES = 1_000
# After any time of a file, in nanoseconds.
_NEVER = 2**63
# Files that mean something by their name alone, and are mostly empty.
_EMPTY_BY_NAME = frozenset({"__init__.py", "py.typed", ".gitkeep", ".keep", ".nojekyll"})


class Delivery(NamedTuple):
    """A report as it is handed in: the record that it would be, its data and its whole text.

    `commits` are the commits named in its data that the repository has. `is_past` is true of a report of
    which nobody can tell any more what lay beside it when it was written, `is_draft` of one that nobody made
    yet.
    """

    record: Record
    data: Mapping[str, Any] = {}
    text: str = ""
    commits: frozenset[str] = frozenset()
    is_past: bool = False
    is_draft: bool = False


class DeliveryFiles(NamedTuple):
    """The files that a report has to come with, as paths from the root: `there` and `absent` as the step
    declares them, `named` what the report names itself."""

    there: tuple[str, ...]
    absent: tuple[str, ...]
    named: tuple[str, ...]


def delivery_files(facts: RunFacts, brings: Brings, delivery: Delivery) -> DeliveryFiles:
    """The files that a report is about. A path declared both ways is not looked at."""
    return _delivery_files(facts, brings, _context(facts, delivery), delivery)


def _delivery_files(facts: RunFacts, brings: Brings, context: Context, delivery: Delivery) -> DeliveryFiles:
    there, absent = (_paths(facts, context, wanted) for wanted in (brings.files, brings.absent))
    both = there.keys() & absent.keys()
    return DeliveryFiles(
        tuple(path for path in there if path not in both),
        tuple(path for path in absent if path not in both),
        tuple(_named_files(facts, delivery)),
    )


def requirements(facts: RunFacts, brings: Brings, delivery: Delivery) -> Iterator[Requirement]:
    """All that a report that calls its step done has to come with, and whether this one does.

    Those of change come last. Of a draft, whose text nobody wrote, no file is read and nothing compared.
    """
    context = _context(facts, delivery)
    if brings.report and delivery.is_draft:
        said = "its text in the form of a report, which says in a sentence what was looked at and found"
        yield Requirement(RequirementKind.REPORT, f"{said}; it comes with every outcome")
    if not (delivery.is_draft or delivery.is_past):
        yield from _of_tasks(facts, brings, context, delivery)
    for alternatives in brings.data:
        said = " or ".join(f"{path} ({_WANTED[kind]})" for path, kind in alternatives.items())
        fits = any(_fits(delivery, path, kind) for path, kind in alternatives.items())
        met = None if delivery.is_draft else fits
        yield Requirement(RequirementKind.DATA, f"its data says {said}", met=met)
    files = _delivery_files(facts, brings, context, delivery)
    if brings.missing and not delivery.is_past:
        yield _of_missing(facts, brings.missing, context, delivery)
    if not delivery.is_past:
        yield from _of_files(facts, brings, files, context, delivery)
    for name, why in _check_doubts(facts, context, brings):
        said = f"the check {name} has passed on the files as they are{why and f' ({why})'}" if name else why
        yield Requirement(RequirementKind.CHECKS, said, met=not why)
    bare = _context(facts, delivery._replace(data={})) if delivery.is_draft and delivery.data else context
    for criterion in brings.holds:
        met: bool | None = context.holds(criterion.when)
        # What the example of a draft's data makes true nobody has said yet.
        met = met if met == bare.holds(criterion.when) else None
        yield Requirement(RequirementKind.HOLDS, criterion.text, met=met)
    if not delivery.is_past:
        yield from _of_change(facts, brings, files, context, delivery)
    made = _made_files(facts, str(delivery.record["phase"])) if brings.differs else ()
    for criterion in brings.differs:
        yield Requirement(RequirementKind.DIFFERS, criterion.text, made, context.holds(criterion.when))


def _made_files(facts: RunFacts, step: str) -> tuple[str, ...]:
    """The files that a phase makes and that are there; what is declared by a pattern is no one file."""
    phase, declared = facts.workflow.phases.get(step), facts.workflow.artifacts
    names = [n for n in phase.produces if not any(map(_is_pattern, declared[n].paths))] if phase else []
    return tuple(each.path for each in map(facts.artifact, names) if each.exists)


def tasks_to_judge(facts: RunFacts, brings: Brings, record: Record) -> list[str]:
    """The ids of the tasks that the text of a report has to speak of, in the order of the plan."""
    context = _context(facts, Delivery(record))
    wanted = brings.criteria or brings.mentions
    return list(_task_ids(context, wanted)) if wanted else []


def missing_files(facts: RunFacts, brings: Brings, record: Record) -> list[str]:
    """The files that are not there of those that the text of a report has to speak of then."""
    return _missing(facts, brings.missing, _context(facts, Delivery(record))) if brings.missing else []


def _missing(facts: RunFacts, wanted: Expression, context: Context) -> list[str]:
    declared = [*_paths(facts, context, wanted)][:_MOST_FILES]
    return [path for path in declared if facts.snapshot.reader.content_of(path) == "missing"]


def _of_missing(facts: RunFacts, wanted: Expression, context: Context, delivery: Delivery) -> Requirement:
    """That the text says of each file that is not there why it is not."""
    if error := context.value(wanted).error:
        return Requirement(RequirementKind.MISSING, f"the missing files can be told ({error})", met=False)
    gone = _missing(facts, wanted, context)
    if not gone:
        return Requirement(RequirementKind.MISSING, "no file is missing that the tasks declare", met=True)
    said = "its text says of each of these files why it is not there"
    if delivery.is_draft:
        return Requirement(RequirementKind.MISSING, said, tuple(gone))
    words = {*_PATH.findall(delivery.text)}
    silent = [path for path in gone if not _is_named(path, words, delivery.text)]
    return Requirement(RequirementKind.MISSING, said, tuple(silent or gone), not silent)


def _is_named(path: str, words: Set[str], text: str) -> bool:
    """True if a text with these paths names one; one with other characters in it stands there somewhere."""
    return path in words if _PATH.fullmatch(path) else path in text


def _task_ids(context: Context, wanted: Expression) -> Iterator[str]:
    value = context.items(wanted).value
    for item in value if isinstance(value, list) else ():
        yield str(item.get("id")) if isinstance(item, dict) else str(item)


def _of_tasks(facts: RunFacts, brings: Brings, context: Context, delivery: Delivery) -> Iterator[Requirement]:
    """That the text speaks of each task at hand, where it has to."""
    forms, plan = list(facts.workflow.reports.read.values()), facts.snapshot.plan
    criteria = "its text says of each task in a row of its own whether a criterion is met"
    mentions = "its text names each failing task with its cause"
    for wanted, said, names_in in (
        (brings.criteria, criteria, partial(judged_names, forms=forms)),
        (brings.mentions, mentions, names_mentioned),
    ):
        if wanted is None:
            continue
        if error := context.items(wanted).error:
            yield Requirement(RequirementKind.REPORT, f"{said} ({error})", met=False)
        spoken_of = {resolve(plan, name) for name in names_in(delivery.text)} if plan else set()
        missing = [task for task in _task_ids(context, wanted) if task not in spoken_of]
        if missing:
            more = f" and {len(missing) - _MOST_NAMED} more" if len(missing) > _MOST_NAMED else ""
            named = f"{', '.join(missing[:_MOST_NAMED])}{more}"
            yield Requirement(RequirementKind.REPORT, f"{said}; it does not of {named}", met=False)


def unmet_requirements(facts: RunFacts, brings: Brings, delivery: Delivery) -> list[Requirement]:
    """Those of the requirements that a report is refused for."""
    return [each for each in requirements(facts, brings, delivery) if not each.met]


def announced_requirements(facts: RunFacts, brings: Brings, draft: Delivery) -> tuple[Requirement, ...]:
    """The requirements of a report before it is made. A change is asked for of what was sent back alone."""
    every = requirements(facts, brings, draft._replace(is_draft=True))
    return tuple(each for each in every if not (each.kind.is_of_change and each.met))


def checks_behind(facts: RunFacts, brings: Brings, delivery: Delivery) -> dict[str, str]:
    """check → why no report of work that is done rests on it, "" where it passed on the files as they are."""
    return dict(_check_doubts(facts, _context(facts, delivery), brings))


def _check_doubts(facts: RunFacts, context: Context, brings: Brings) -> Iterator[tuple[str, str]]:
    outcome = context.value(brings.checks) if brings.checks else None
    if outcome is None:
        return
    if not isinstance(outcome.value, list):
        yield "", f"the checks that it rests on can be told ({outcome.error or 'they are no list'})"
        return
    known: Any = facts.context.fact("checks").value if outcome.value else {}
    for name in map(str, outcome.value):
        if name not in known:
            yield name, f"the root declares no check of that name{did_you_mean(name, list(known))}"
        else:
            passed = known[name]["result"] == CheckResult.PASSED
            yield name, "" if passed else f"{known[name]['result']}: {known[name]['reason']}"


def _of_files(
    facts: RunFacts, brings: Brings, files: DeliveryFiles, context: Context, delivery: Delivery
) -> Iterator[Requirement]:
    content = {path: facts.snapshot.reader.content_of(path) for path in (*files.there, *files.absent)}
    may_be_empty = _paths(facts, context, brings.empty)
    filled: list[str] = []
    blank: list[str] = []
    lost: list[str] = []
    for path in files.there:
        is_empty_by_right = path in may_be_empty or name_in(path) in _EMPTY_BY_NAME
        is_there = content[path] == "filled" or (content[path] == "empty" and is_empty_by_right)
        (filled if is_there else blank if content[path] == "empty" else lost).append(path)
    left = [path for path in files.absent if content[path] != "missing"]
    gone = [path for path in files.absent if content[path] == "missing"]
    of_tasks = "of the tasks that it names, " if delivery.is_draft and _task_count(delivery) > 1 else ""
    for kind, text, paths, met in (
        (RequirementKind.FILES, "these files exist", lost, False),
        (RequirementKind.FILES, "these files hold something", blank, False),
        (RequirementKind.ABSENT, "these files are gone", left, False),
        (RequirementKind.FILES, "these files exist", filled, True),
        (RequirementKind.ABSENT, "these files are gone", gone, True),
    ):
        if paths:
            yield Requirement(kind, of_tasks + text, tuple(paths), met)
    for kind, wanted in ((RequirementKind.FILES, brings.files), (RequirementKind.ABSENT, brings.absent)):
        if wanted and (error := context.value(wanted).error):
            yield Requirement(kind, f"the files that it must come with can be told ({error})", met=False)
    if _names_files(brings, context):
        text = 'it names the files that were changed, in its data ({"files": ["src/name.py"]}) or its summary'
        if not (files.there or files.absent or files.named):
            not_there = ", ".join(_missing_files(facts, delivery))
            said = f"{text}; not there: {not_there}" if not_there else text
            yield Requirement(RequirementKind.NAMED, said, met=None if delivery.is_draft else False)
        elif delivery.is_draft and _declare_unequally(brings, context):
            yield Requirement(RequirementKind.NAMED, f"where its task declares no file, {text}")


def _task_count(delivery: Delivery) -> int:
    tasks = delivery.record["tasks"]
    return len(tasks) if isinstance(tasks, list) else 0


def _declare_unequally(brings: Brings, context: Context) -> bool:
    """True if one of several tasks declares neither files that exist nor files that do not."""
    lists = [context.value(wanted).value for wanted in (brings.files, brings.absent) if wanted]
    each = [entry for entry in lists if isinstance(entry, list)]
    return len(each) == len(lists) and any(not any(one) for one in zip(*each, strict=False))


def _of_change(
    facts: RunFacts, brings: Brings, files: DeliveryFiles, context: Context, delivery: Delivery
) -> Iterator[Requirement]:
    is_about_files = _names_files(brings, context) or brings.files is None or bool(files.there or files.named)
    then = context.value(brings.changed).value if brings.changed and is_about_files else {}
    about = (*files.there, *files.named)
    if isinstance(then, dict) and not then.get("kind"):
        return
    moment, met = "?", False
    if isinstance(then, dict):
        if about and then["kind"] == RecordKind.START and not any(_exists(facts, path) for path in about):
            # Nothing was begun: that the files are missing says it all.
            return
        moment = f"{then['phase']} {then['outcome']}".strip() or then["kind"]
        met = None if delivery.is_draft else _has_changed(facts, then, files)
    named = "" if about else ": name it"
    yield Requirement(RequirementKind.CHANGED, f"a file was changed since {moment}{named}", about, met)


def _names_files(brings: Brings, context: Context) -> bool:
    """True if the report has to name files where none are declared; what cannot be told is asked for."""
    return brings.named is not None and context.value(brings.named).value is not False


def file_digests(facts: RunFacts, files: DeliveryFiles) -> dict[str, str]:
    """path -> digest of the files that a report came with, as far as they can be read."""
    read = {path: facts.snapshot.reader.read(path).digest for path in (*files.there, *files.named)}
    return {path: digest for path, digest in read.items() if digest}


def _context(facts: RunFacts, delivery: Delivery) -> Context:
    """The names of expressions, `report` being the report at hand."""
    more = {"data": delivery.data, "text": delivery.text}
    at_hand = {**delivery.record, **more, "stateUpdates": delivery.data.get("stateUpdates", {})}

    def fact(name: str) -> object:
        return at_hand if name == "report" else facts.context.fact(name).value_or_raise()

    context = facts.context
    return Context(
        facts.workflow.language, context.variables, fact, context.records, context.tasks, context.budget
    )


def _paths(facts: RunFacts, context: Context, wanted: Expression | None) -> dict[str, None]:
    """The paths of a list, or of lists in it; each where it lies, the root going before the run's folder."""
    value = context.value(wanted).value if wanted else None
    names: dict[str, None] = {}
    for item in value if isinstance(value, list) else ():
        for name in item if isinstance(item, list) else (item,):
            if isinstance(name, str):
                names |= dict.fromkeys(_matching(facts, _location(facts, name)))
    return names


def _location(facts: RunFacts, name: str) -> str:
    if name.startswith("./"):
        return join(facts.snapshot.folder, name) or name
    from_root, from_run = join("", name.lstrip("/")), join(facts.snapshot.folder, name)
    is_in_run = from_run and not (from_root and _exists(facts, from_root)) and _exists(facts, from_run)
    # What leads out of the root is not read, so it is missing.
    return (from_run if is_in_run else from_root) or name


def _exists(facts: RunFacts, path: str) -> bool:
    reader = facts.snapshot.reader
    return bool(reader.glob(path)) if _is_pattern(path) else reader.content_of(path) != "missing"


def _is_pattern(path: str) -> bool:
    return any(character in path for character in "*?[")


def _matching(facts: RunFacts, path: str) -> list[str]:
    """The files that fit a pattern; where none does, and of a plain path, the path."""
    found = [name for name, _ in facts.snapshot.reader.glob(path)] if _is_pattern(path) else []
    return found or [path]


def _named_files(facts: RunFacts, delivery: Delivery) -> Iterator[str]:
    """The files that a report names: existing ones outside of the run's own folder."""
    listed = delivery.data.get("files")
    told = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    words = _PATH.findall(f"{delivery.record['message']}\n{delivery.text}")
    for name in dict.fromkeys((*told, *words[:_MOST_WORDS])):
        path = join("", name.lstrip("/"))
        if (
            path
            and not path.startswith(f"{facts.snapshot.folder}/")
            and facts.snapshot.reader.read(path).exists
        ):
            yield path


def _missing_files(facts: RunFacts, delivery: Delivery) -> Iterator[str]:
    """Files that the data of a report names first and that do not exist."""
    listed = delivery.data.get("files")
    for name in listed[:_MOST_NAMED] if isinstance(listed, list) else ():
        path = join("", name.lstrip("/")) if isinstance(name, str) else ""
        if path and not facts.snapshot.reader.read(path).exists:
            yield path


def artifact_words(facts: RunFacts, name: str) -> str:
    """How an artifact stands that a step brings, with its path or that of the file that lists its files."""
    artifact = facts.artifact(name)
    is_of_file = facts.workflow.artifacts[name].listed is not None and artifact.path != facts.snapshot.folder
    return f"{name} is {artifact.state} ({'named in ' if is_of_file else ''}{artifact.path})"


def _fits(delivery: Delivery, path: str, kind: str) -> bool:
    value = dig(delivery.data, path)
    if kind in _FORMS:
        return isinstance(value, str) and _FORMS[kind].fullmatch(value.strip()) is not None
    if kind == "commit":
        return isinstance(value, str) and value in delivery.commits
    return type(value) in _KINDS[kind] and value not in ("", [], {})


def named_commits(brings: Brings, data: Mapping[str, Any]) -> Iterator[str]:
    """Texts in the data of a report that have to be commits, as far as they look like some."""
    for alternatives in brings.data:
        for path, kind in alternatives.items():
            value = dig(data, path)
            if kind == "commit" and isinstance(value, str) and _COMMIT.fullmatch(value):
                yield value


def _has_changed(facts: RunFacts, then: Mapping[str, Any], files: DeliveryFiles) -> bool:
    """True if one of the files differs from what a record keeps of it, or is newer than that."""
    since = _moment(facts, then)
    kept = {entry["path"]: entry["digest"] for entry in then["files"] if isinstance(entry, dict)}
    for path in (*files.there, *files.absent, *files.named):
        file = facts.snapshot.reader.read(path)
        if (file.digest != kept[path]) if path in kept else (since is None or file.mtime_ns > since):
            return True
    return False


def _nanoseconds(moment: str) -> int:
    """A time of a file or a record; what is none is after all others, so that nothing is newer."""
    try:
        at = datetime.fromisoformat(moment)
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1e9)
    except (ValueError, OverflowError):
        return _NEVER


def _moment(facts: RunFacts, entry: Mapping[str, Any]) -> int | None:
    """The time of a record in nanoseconds: that of its report file where that is older."""
    moments: list[int] = []
    if entry["at"]:
        moments.append(_nanoseconds(str(entry["at"])))
    if entry["path"] and (file := facts.snapshot.reader.read(entry["path"])).exists:
        moments.append(file.mtime_ns)
    return min(moments, default=None)
