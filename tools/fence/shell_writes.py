"""The files that a shell command plainly writes: targets of redirections, operands of well-known programs.

What is moved or deleted may be a folder: its path ends in a slash. What a command writes can't be known: it
may call a script, a build, another interpreter. This sees only what stands in the line itself; what it does
not see is found afterwards, in the files.
"""

from __future__ import annotations

import posixpath
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence

MOST_CHARACTERS = 1_000_000
"""A longer command is none that a person or a model writes; its end is not looked at."""
_ENDS = frozenset((";", "&", "&&", "||", "|", "|&", "(", ")", "\n", ";;", "{", "}"))
_REDIRECTIONS = frozenset((">", ">>", ">|", "&>", "&>>", "<>"))
_BEFORE = frozenset(("sudo", "env", "command", "nohup", "time", "exec", "then", "do", "else", "!"))
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def written_paths(command: str) -> tuple[str, ...]:
    """The paths that stand in a command as what it writes, moves or deletes, in order, each once.

    Those behind a `cd` begin where it leads to, or where they did before: it may be in another shell.
    """
    found: dict[str, None] = {}
    folder = ""
    for words in _simple_commands(_words(command[:MOST_CHARACTERS])):
        for path in filter(None, _written(words)):
            found |= dict.fromkeys((posixpath.join(folder, path), path))
        if words[:1] == ["cd"] and words[1:]:
            folder = posixpath.join(folder, words[-1])
    return tuple(found)


def _words(command: str) -> list[str]:
    """The words of a command; those of one that is not closed, as far as they can be told."""
    for text in (command, command + "'", command + '"'):
        lexer = shlex.shlex(text.replace("\n", " ; "), posix=True, punctuation_chars="();<>|&{}")
        lexer.whitespace_split = True
        lexer.commenters = ""
        try:
            return list(lexer)
        except ValueError:
            continue
    return command.split()


def _simple_commands(words: Sequence[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for word in words:
        if word in _ENDS:
            yield part
            part = []
        else:
            part.append(word)
    yield part


def _written(words: Sequence[str]) -> Iterator[str]:
    """The paths that one simple command writes."""
    plain: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word in _REDIRECTIONS:
            yield next(waiting, "")
            # The number of the stream before it is no operand.
            if plain and plain[-1].isdigit():
                plain.pop()
        elif word.strip("<>&0123456789") or word.isdigit():
            plain.append(word)
        elif word.startswith("<"):
            next(waiting, "")
    while plain and (plain[0] in _BEFORE or _ASSIGNMENT.match(plain[0])):
        plain.pop(0)
    if plain:
        program, operands = plain[0].rpartition("/")[2], plain[1:]
        writer = _WRITERS.get(program)
        yield from writer(operands) if writer else ()


def _operands(words: Sequence[str]) -> list[str]:
    """The words that are no options."""
    if "--" in words:
        at = list(words).index("--")
        return [*_operands(words[:at]), *words[at + 1 :]]
    return [word for word in words if not word.startswith("-")]


def _whole(words: Sequence[str]) -> Sequence[str]:
    """The operands, each with all below it."""
    return [posixpath.join(word, "") for word in _operands(words) if word]


def _target(words: Sequence[str]) -> Sequence[str]:
    """The last operand, and what the others become where that is a folder."""
    *sources, target = _operands(words) or [""]
    names = (posixpath.basename(source.rstrip("/")) for source in sources)
    return [target.rstrip("/"), *(posixpath.join(target, name) for name in names)]


def _moved_places(words: Sequence[str]) -> Sequence[str]:
    return [*_whole(_operands(words)[:-1]), *_target(words)]


def _in_place(words: Sequence[str]) -> Sequence[str]:
    """Of `sed -i` and `perl -i` the operands, of which the script is no path of anybody's."""
    is_in_place = any(re.match(r"-\w*i|--in-place", word) for word in words)
    return _operands(words) if is_in_place else ()


def _of_dd(words: Sequence[str]) -> Sequence[str]:
    return [word[3:] for word in words if word.startswith("of=")]


def _of_git(words: Sequence[str]) -> Sequence[str]:
    command, *operands = _operands(words) or [""]
    if command == "mv":
        return _moved_places(operands)
    return _whole(operands) if command in ("checkout", "restore", "rm") else ()


_WRITERS: Mapping[str, Callable[[Sequence[str]], Sequence[str]]] = {
    **dict.fromkeys(("touch", "truncate", "tee"), _operands),
    **dict.fromkeys(("rm", "unlink", "rmdir", "shred"), _whole),
    "mv": _moved_places,
    **dict.fromkeys(("cp", "ln", "install", "rsync"), _target),
    **dict.fromkeys(("sed", "perl", "gsed"), _in_place),
    "dd": _of_dd,
    "git": _of_git,
}
