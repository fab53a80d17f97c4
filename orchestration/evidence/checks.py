"""Declared checks: what a root's configuration says is run, on which inputs, and which reports it writes.

Reading never raises: what is wrong is a problem at its place, and a check with a mistake in it is left out as
a whole, for one that is run otherwise than it was meant proves nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..findings import Problem, Span
from ..formats.yaml_text import Node, typed_value
from ..suggestions import did_you_mean, misspelling
from ..vfs.files import digest_of, is_below_root, name_in
from ..vfs.glob import is_glob

CODE = "check-invalid"
MOST_CHECKS = 50
MOST_PATTERNS = 200
"""Of one list of patterns or files."""
MOST_WORDS = 200
"""Of one command."""
DEFAULT_TIMEOUT_S = 900
MOST_TIMEOUT_S = 86_400

REPORTS: Mapping[str, str] = {
    "junit": "JUnit XML: the tests that ran, and how each ended",
    "coverage": "Cobertura XML, LCOV, or coverage.py's JSON: the lines and branches that ran",
    "sarif": "SARIF 2.1.0: what a linter or a scanner found",
}
"""The kinds of reports that are read, and what each holds."""

KEYS: Mapping[str, str] = {
    "run": "the program and its arguments; no shell reads them",
    "inputs": "patterns of the files that the result depends on; without it every file that git knows",
    "definition": "files that say what is run, beside those named in run; a change asks a person again",
    "reports": "the files that it writes, by their kind",
    "timeout_s": "seconds until it is ended and counts as failed",
}
"""The keys of a check, and what each means."""

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")
# What tells these programs what to do; the first words of a command that starts them with another.
_FILES_OF: Mapping[str, tuple[str, ...]] = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "tox": ("tox.ini", "pyproject.toml", "setup.cfg", "tox.toml"),
    "nox": ("noxfile.py",),
    "just": ("justfile", "Justfile", ".justfile"),
    **dict.fromkeys(("npm", "npx", "pnpm", "yarn", "bun"), ("package.json",)),
}


@dataclass(frozen=True)
class Check:
    """One check. `inputs` () means every file that git tracks or would track.

    `reports` has paths by kind. `span` is the place of its name, `places` those of its keys; neither is a
    part of what it is.
    """

    name: str
    run: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    definition: tuple[str, ...] = ()
    reports: Mapping[str, str] = field(default_factory=dict)
    timeout_s: int = DEFAULT_TIMEOUT_S
    span: Span | None = field(default=None, compare=False)
    places: Mapping[str, Span] = field(default_factory=dict, compare=False, repr=False)

    @property
    def definition_files(self) -> tuple[str, ...]:
        """The files, in order, that may say what is run: a person trusts those that are there as they are.

        Words of `run` that name a file in the root, and `definition`, or else the usual file of the program.
        The reports that it writes say nothing of what is run, although a word may name them.
        """
        words = (word.removeprefix("./") for word in self.run)
        named = [word for word in words if is_below_root(word) and "\\" not in word]
        usual = self.definition or _FILES_OF.get(name_in(self.run[0]), ())
        written = {path.removeprefix("./") for path in self.reports.values()}
        return tuple(each for each in dict.fromkeys((*named, *usual)) if each not in written)

    def digest(self, files: Iterable[tuple[str, str]]) -> str:
        """16 hex digits that name what is run: the check, and (path, digest) of its definition files."""
        declared = [self.run, self.inputs, self.definition, sorted(self.reports.items()), self.timeout_s]
        return digest_of(json.dumps([self.name, *declared, *files]))


def read_checks(node: Node, wrong: list[Problem]) -> dict[str, Check]:
    """The checks in the map under `checks:`, by name; what is wrong is added to `wrong`."""
    if not isinstance(node.value, dict):
        wrong.append(Problem(CODE, "checks must be a map from names to checks", node.span))
        return {}
    if len(node.value) > MOST_CHECKS:
        said = f"there are {len(node.value)} checks, at most {MOST_CHECKS} are read"
        wrong.append(Problem(CODE, said, node.span))
        return {}
    checks: dict[str, Check] = {}
    for name, each in node.value.items():
        reader = _CheckReader(name, node.keys[name], wrong)
        if check := reader.read(each):
            checks[name] = check
    return _without_shared_reports(checks, wrong)


def _without_shared_reports(checks: Mapping[str, Check], wrong: list[Problem]) -> dict[str, Check]:
    """The checks but those that write a report which an earlier one writes: whose result would it be?"""
    owners: dict[str, str] = {}
    alone: dict[str, Check] = {}
    for name, check in checks.items():
        shared = next((path for path in check.reports.values() if path in owners), None)
        if shared is None:
            alone[name] = check
            owners |= dict.fromkeys(check.reports.values(), name)
        else:
            said = f"{name} writes {shared}, as {owners[shared]} does; each check needs reports of its own"
            wrong.append(Problem(CODE, said, check.places["reports"]))
    return alone


class _CheckReader:
    """The reader of one check; `ok` turns false with the first mistake."""

    def __init__(self, name: str, span: Span, wrong: list[Problem]):
        self.name, self.span, self.wrong, self.ok = name, span, wrong, True

    def read(self, node: Node) -> Check | None:
        """The check, None where something is wrong with it."""
        if not _NAME.fullmatch(self.name):
            self._add(
                f"{self.name!r} is no name: a small letter, then small letters, digits, - and _", self.span
            )
        if not isinstance(node.value, dict):
            self._add(f"{self.name} must be a map with run", node.span)
            return None
        for key in node.value:
            if key not in KEYS:
                said = f"unknown key {key!r} in a check{did_you_mean(key, list(KEYS))}"
                self._add(said, node.keys[key], misspelling(key, list(KEYS)))
        values = node.value
        if "run" not in values:
            self._add(f"{self.name} needs run: {KEYS['run']}", self.span)
        run = self._texts("run", values.get("run"), MOST_WORDS)
        inputs = self._paths("inputs", values.get("inputs"))
        definition = self._paths("definition", values.get("definition"), globs=False)
        reports = self._reports(values.get("reports"))
        timeout_s = self._seconds(values.get("timeout_s"))
        if not self.ok:
            return None
        places = {key: each.span for key, each in values.items()}
        return Check(self.name, run, inputs, definition, reports, timeout_s, self.span, places)

    def _texts(self, key: str, node: Node | None, most: int) -> tuple[str, ...]:
        """The texts of a list; () without one."""
        if node is None:
            return ()
        if not isinstance(node.value, list):
            hint = " of words: the program, then each of its arguments" if key == "run" else ""
            self._add(f"{key} must be a list{hint}", node.span)
            return ()
        if not 0 < len(node.value) <= most:
            self._add(f"{key} must hold 1 to {most} entries", node.span)
            return ()
        for each in node.value:
            if not isinstance(each.value, str) or "\0" in each.value or (key != "run" and not each.value):
                self._add(f"each of {key} must be a text", each.span)
        texts = tuple(str(each.value) for each in node.value)
        if key == "run" and not texts[0]:
            self._add("the program that is run has no name", node.value[0].span)
        return texts

    def _paths(self, key: str, node: Node | None, *, globs: bool = True) -> tuple[str, ...]:
        """Paths below the root, or patterns of such."""
        texts = self._texts(key, node, MOST_PATTERNS)
        nodes = node.value if node and isinstance(node.value, list) else []
        for text, each in zip(texts, nodes, strict=False):
            self._path(text, each.span, globs=globs)
        return texts

    def _path(self, text: str, span: Span, *, globs: bool) -> None:
        if not is_below_root(text) or "\\" in text:
            self._add(f"{text!r} is no path below the root, written with / and without ..", span)
        elif not globs and is_glob(text):
            self._add(f"{text!r} is a pattern; here a file is named", span)

    def _reports(self, node: Node | None) -> dict[str, str]:
        if node is None:
            return {}
        if not isinstance(node.value, dict):
            self._add("reports must be a map from kinds to files", node.span)
            return {}
        paths: dict[str, str] = {}
        for kind, each in node.value.items():
            if kind not in REPORTS:
                said = f"no report is of the kind {kind!r}{did_you_mean(kind, list(REPORTS))}"
                self._add(said, node.keys[kind], misspelling(kind, list(REPORTS)))
            elif not isinstance(each.value, str):
                self._add(f"the {kind} report must be a file's path", each.span)
            elif ".phasekeeper" in each.value.split("/"):
                self._add("reports do not lie in .phasekeeper: what stands there is ours", each.span)
            else:
                self._path(each.value, each.span, globs=False)
                paths[kind] = each.value
        if len(set(paths.values())) < len(paths):
            self._add("one file cannot be reports of two kinds", node.span)
        return paths

    def _seconds(self, node: Node | None) -> int:
        if node is None:
            return DEFAULT_TIMEOUT_S
        value = typed_value(node) if node.kind == "scalar" else None
        if type(value) is int and 0 < value <= MOST_TIMEOUT_S:
            return value
        self._add(f"timeout_s must be a whole number of seconds, 1 to {MOST_TIMEOUT_S}", node.span)
        return DEFAULT_TIMEOUT_S

    def _add(self, message: str, span: Span, data: Mapping[str, object] | None = None) -> None:
        self.ok = False
        self.wrong.append(Problem(CODE, message, span, data=data or {}))
