"""Fixes of JSON, the configuration and workflow definitions: one value changed in place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from ...orchestration.definition.root_config import PATH as CONFIGURATION
from ...orchestration.definition.root_config import read_config
from ...orchestration.findings import Edit, Span
from ...orchestration.formats.json_edits import set_values
from ...orchestration.formats.json_text import locate_json, members, read_json, span_between
from ...orchestration.markdown.block_outline import split_lines
from ...orchestration.markdown.line_edits import Replacement, apply_edits
from ...orchestration.vfs.files import digest_of
from .fix import FixContext, QuickFix

# What stands in for a value that is still to be found out; none of it lets a guard hold by itself.
_EMPTY: Mapping[str, object] = {
    "bool": False,
    "int": 0,
    "number": 0,
    "string": "",
    "list": [],
    "map": {},
    "any": "",
}


# ---- values of JSON ---------------------------------------------------------------------------


def set_required_value(ctx: FixContext) -> Iterator[QuickFix]:
    """A value that `require` or a JSON Schema asks for: each word it may be, or an empty one of its type."""
    want, path = ctx.finding.data.get("want"), ctx.finding.data.get("path", ())
    if not want or not isinstance(read_json(ctx.text).data, dict):
        return
    values = want if isinstance(want, tuple) else (False, True) if want == "bool" else (_EMPTY[want],)
    verb = "Set" if locate_json(ctx.text, path) else "Add"
    for value in values:
        title = f"{verb} {'.'.join(map(str, path))}: {json.dumps(value)}"
        edit = ctx.edit(set_values(ctx.text, [(path, value)]))
        yield QuickFix(title, (edit,), preferred=len(values) == 1)


def set_known_word(ctx: FixContext) -> Iterator[QuickFix]:
    """A word that nobody knows: the nearest known ones first, then the others."""
    data = ctx.finding.data
    near = data["suggestions"]
    known = (*near, *(word for word in data["want"] if word not in near))
    if "path" not in data and ctx.finding.span:
        for word in known:
            edit = ctx.edit(apply_edits(ctx.text, [Replacement(ctx.finding.span, word)]))
            yield QuickFix(f"Write {word}", (edit,), preferred=word in near[:1])
        return
    for word in known if isinstance(read_json(ctx.text).data, dict) else ():
        edit = ctx.edit(set_values(ctx.text, [(data["path"], word)]))
        yield QuickFix(f"Write {json.dumps(word)}", (edit,), preferred=word in near[:1])


def restore_value(ctx: FixContext) -> Iterator[QuickFix]:
    """A value that is looser than it was: the one of before, as far as it is a single one."""
    data = ctx.finding.data
    if "value" in data and isinstance(read_json(ctx.text).data, dict):
        name, edit = data["path"][-1], ctx.edit(set_values(ctx.text, [(data["path"], data["value"])]))
        yield QuickFix(f"Restore {name}: {json.dumps(data['value'])}", (edit,), preferred=True)


def remove_earlier_key(ctx: FixContext) -> Iterator[QuickFix]:
    """A key that stands twice: the earlier one goes, which no reader sees anyway."""
    text = ctx.text
    unvisited = [len(text) - len(text.lstrip())]
    while unvisited:
        at = unvisited.pop()
        if text[at : at + 1] not in ("{", "["):
            continue
        earlier: dict[str, tuple[int, int]] = {}
        """Key -> where its member begins, and where the next one does."""
        inside = list(members(text, at))
        for member, following in zip(inside, [*inside[1:], None], strict=True):
            here = span_between(text, member.start, member.key_end)
            if member.key is not None and here == ctx.finding.span:
                if member.key in earlier:
                    start, end = earlier[member.key]
                    edit = ctx.edit(text[:start] + text[end:])
                    yield QuickFix(f"Remove the earlier {ctx.marked_text}", (edit,), preferred=True)
                return
            if member.key is not None and following is not None:
                earlier[member.key] = (member.start, following.start)
            unvisited.append(member.value)


def nest_dotted_key(ctx: FixContext) -> Iterator[QuickFix]:
    """A key with a dot that was meant as a path: the value goes where it is read."""
    data, key = read_json(ctx.text).data, read_json(ctx.marked_text).data
    if isinstance(data, dict) and isinstance(key, str) and key in data:
        others = {name: value for name, value in data.items() if name != key}
        text = set_values(ctx.text, [((), others), (tuple(key.split(".")), data[key])])
        yield QuickFix(f"Write {key} as a path", (ctx.edit(text),), preferred=True)


def keep_one_copy(ctx: FixContext) -> Iterator[QuickFix]:
    """An artifact in two places: the copy goes, or its text takes the place of the other's."""
    used = ctx.finding.data["used"]
    yield QuickFix(f"Delete this copy; {used} is used", removes=(ctx.finding.path,), preferred=True)
    other = ctx.read(used)
    if other is not None:
        yield QuickFix(f"Take this copy for {used}", (Edit(used, digest_of(other), ctx.text),))


# ---- YAML -------------------------------------------------------------------------------------


def fix_parameter(ctx: FixContext) -> Iterator[QuickFix]:
    """A parameter of the configuration: the name that was meant, its default, or none of it."""
    if ctx.finding.path != CONFIGURATION or ctx.finding.span is None:
        return
    data, line = ctx.finding.data, ctx.lines[ctx.span.line]
    # The finding stands at the key, or at the value behind it.
    word = data.get("word", "")
    at = line.rfind(word, 0, max(ctx.span.end_column, 1))
    for name in data.get("suggestions", ()) if at >= 0 else ():
        span = Span(ctx.span.line, at, ctx.span.line, at + len(word))
        yield QuickFix(f"Write {name}", (ctx.replace(name, span),), preferred=True)
    if "default" in data and re.match(r"[\w.-]+", ctx.marked_text):
        default = str(data["default"])
        yield QuickFix(f"Set it to its default, {default}", (ctx.replace(default),), preferred=True)
    # An entry with a line of its own.
    if re.match(r"\s*[\w.-]+\s*:\s*[^{\[]*$", line):
        yield QuickFix("Remove it", (ctx.delete_line(),))


def respell_word(ctx: FixContext) -> Iterator[QuickFix]:
    """A word of a definition that is misspelt: the words that were meant."""
    word = str(ctx.finding.data.get("word", ""))
    for suggestion in ctx.finding.data["suggestions"] if word and word in ctx.marked_text else ():
        edit = ctx.replace(ctx.marked_text.replace(word, suggestion, 1))
        yield QuickFix(f"Write {suggestion}", (edit,), preferred=True)


def assign_workflow(ctx: FixContext) -> Iterator[QuickFix]:
    """Two definitions claim a folder: the configuration assigns it to one."""
    if ctx.evaluation is None:
        return
    text = ctx.read(CONFIGURATION)
    for name in ctx.finding.data["workflows"]:
        assigned = _with_assignment(text or "", ctx.evaluation.run, name)
        if assigned is not None:
            edit = Edit(CONFIGURATION, digest_of(text) if text is not None else None, assigned)
            yield QuickFix(f"Judge it by {name}", (edit,))


def _with_assignment(text: str, run: str, workflow: str) -> str | None:
    """The configuration with a folder assigned; None where its `workflows` is written in one line."""
    entry = f"  {json.dumps(run)}: {workflow}"
    lines = split_lines(text)
    at = next((number for number, line in enumerate(lines) if re.match(r"workflows\s*:", line)), None)
    if at is None:
        whole = text if not text or text.endswith("\n") else text + "\n"
        assigned = f"{whole}workflows:\n{entry}\n"
    elif re.fullmatch(r"workflows\s*:\s*", lines[at]):
        assigned = "\n".join([*lines[: at + 1], entry, *lines[at + 1 :]])
    else:
        return None
    return assigned if read_config(assigned).workflows.get(run) == workflow else None
