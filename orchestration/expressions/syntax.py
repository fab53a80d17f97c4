"""The grammar of guard expressions: a precedence-climbing parser, and the syntax tree.

The language is a subset of CEL, see "The guard language" in the README of the workflows. Offsets count code
points of the source. Lint, the type checker, the compiler and the editor all work on these nodes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, TypeVar

from .tokens import LITERALS, MACROS, RESERVED, TYPE_NAMES, Lexeme, Token, tokens

# The most characters of one expression, and of a text with expressions in it.
MOST_CHARACTERS, MOST_TEMPLATE = 2000, 10_000
# The most levels of a syntax tree, and of brackets: trees are walked by recursion.
MOST_LEVELS = 32
_BINDING = {
    "||": 1, "&&": 2, "==": 3, "!=": 3, "<": 3, "<=": 3, ">": 3, ">=": 3, "in": 3, "+": 4, "-": 4,
    "*": 5, "/": 5, "%": 5,
}  # fmt: skip
# Words and signs of other languages, and what stands for them here.
_FOREIGN = {"and": "&&", "or": "||", "not": "!", "is": "==", "=": "==", "&": "&&", "|": "||", "None": "null"}


ErrorData = dict[tuple[int, str], Mapping[str, Any]]


class InvalidExpression(Exception):  # noqa: N818 - the expression is invalid; no program error
    """An expression that cannot be used; `errors` holds (offset, message).

    `data` holds `Finding.data` for those that a quick fix can correct.
    """

    def __init__(self, errors: Sequence[tuple[int, str]], data: ErrorData | None = None):
        super().__init__("; ".join(message for _, message in errors))
        self.errors = tuple(errors)
        self.data = data or {}


# ---- literals ---------------------------------------------------------------------------------


_ESCAPE = re.compile(r"\\(?:[0-3][0-7]{2}|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|(?s:.))")
_ESCAPED = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip


def _text_of(token: Token) -> str:
    """The text that a literal stands for. Raises InvalidExpression."""
    prefix = token.text[: re.search("['\"]", token.text).start()].lower()  # type: ignore[union-attr]
    if "b" in prefix:
        raise InvalidExpression([(token.at, f"{token.text}: {_OUTSIDE.format('bytes')}")])
    quoted = token.text[len(prefix) :]
    quotes = 3 if quoted[:3] in ("'''", '"""') else 1
    text = quoted[quotes:-quotes]
    if "r" in prefix or "\\" not in text:
        return text
    begin = token.at + len(prefix) + quotes

    def unescape(match: re.Match[str]) -> str:
        code = match[0][1:]
        if len(code) == 1:
            character = _ESCAPED.get(code)
        else:
            number = int(code, 8) if code[0].isdigit() else int(code[1:], 16)
            character = chr(number) if number < 0xD800 or 0xE000 <= number <= 0x10FFFF else None
        if character is None:
            message = f"{match[0]} is no escape; a backslash is written \\\\"
            raise InvalidExpression([(begin + match.start(), message)])
        return character

    return _ESCAPE.sub(unescape, text)


_OUTSIDE = "CEL has {}, the guard language has not"


def _number_of(token: Token, sign: str = "") -> int | float:
    """The number that a literal stands for. Raises InvalidExpression."""
    text = token.text
    if text[-1] in "uU":
        raise InvalidExpression([(token.at, f"{text}: {_OUTSIDE.format('unsigned numbers')}")])
    if text[:2] in ("0x", "0X"):
        number: int | float = int(sign + text, 16)
    elif text.isdigit():
        number = int(sign + text)
    else:
        return float(sign + text)
    if not -(2**63) <= number < 2**63:
        raise InvalidExpression([(token.at, f"{text} has more digits than a whole number can have here")])
    return number


# ---- the syntax tree --------------------------------------------------------------------------


class Kind(StrEnum):
    """The kinds of nodes; `SyntaxNode` says what each has in it."""

    LITERAL = "literal"
    NAME = "name"
    FIELD = "field"
    ITEM = "item"
    CALL = "call"
    METHOD = "method"
    HAS = "has"
    LOOP = "loop"
    LIST = "list"
    MAP = "map"
    UNARY = "unary"
    BINARY = "binary"
    LOGIC = "logic"
    CHOICE = "choice"


class SyntaxNode(NamedTuple):
    """One node; `at` is where it is pointed at: its name, its operator, or its first character.

    LITERAL: `value`. NAME: `text`. FIELD: `text` of `children[0]`. ITEM: `children` are the whole and the
    key. For FIELD and ITEM, `value` is whether it is optional (`.?`, `[?`). CALL: `text` of `children`;
    METHOD: the receiver is the first child. HAS: the child is a FIELD. LOOP: a macro `text` over
    `children[0]`, which binds the name `value` in the other children. LIST: `value` holds for each child
    whether it is optional; MAP: keys and values in turn, `value` for each entry. UNARY, BINARY, LOGIC: the
    operator is `text`; LOGIC has two or more children, `value` are the offsets of the operators. CHOICE:
    test, then, else.
    """

    kind: Kind
    text: str
    children: tuple[SyntaxNode, ...]
    at: int
    value: object = None

    @property
    def flags(self) -> tuple[Any, ...]:
        """The `value` of a LIST, MAP or LOGIC."""
        return self.value if isinstance(self.value, tuple) else ()


def walk(tree: SyntaxNode) -> Iterator[SyntaxNode]:
    """The node and everything below it, parents first, in the order of the text."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


class Read(NamedTuple):
    """A path that an expression reads: the longest chain NAME.field.field of a name it does not bind."""

    path: tuple[str, ...]
    offset: int


def chain_of(node: SyntaxNode) -> list[SyntaxNode]:
    """The nodes of a chain X.field.field, X first."""
    chain = [node]
    while chain[-1].kind is Kind.FIELD:
        chain.append(chain[-1].children[0])
    return chain[::-1]


def path_of(node: SyntaxNode) -> tuple[str, ...]:
    """The names of a chain NAME.field.field, () for anything else."""
    chain = chain_of(node)
    return tuple(part.text for part in chain) if chain[0].kind is Kind.NAME else ()


def reads(node: SyntaxNode, bound: frozenset[str] = frozenset()) -> Iterator[Read]:
    """The paths that a tree reads, in the order of the text."""
    path = path_of(node)
    if path:
        if path[0] not in bound and path[0] not in TYPE_NAMES:
            yield Read(path, chain_of(node)[0].at)
        return
    inside = bound | {str(node.value)} if node.kind is Kind.LOOP else bound
    for position, child in enumerate(node.children):
        yield from reads(child, inside if position else bound)


class KnownNames(Protocol):
    """The names that an expression may use, with their types."""

    variables: dict[str, str]
    facts: dict[str, str]
    edits: bool

    @property
    def names(self) -> Sequence[str]: ...

    def name_in(self, path: tuple[str, ...]) -> str: ...

    def type_of(self, name: str) -> str: ...


# ---- the parser -------------------------------------------------------------------------------


def parse(source: str) -> SyntaxNode:
    """The syntax tree of an expression. Raises InvalidExpression with the first error."""
    if len(source) > MOST_CHARACTERS:
        message = f"has {len(source)} characters, at most {MOST_CHARACTERS} are allowed"
        raise InvalidExpression([(0, message)])
    parser = _Parser(source)
    tree = parser.choice()
    if parser.token is not None:
        raise parser.unexpected_token("an operator")
    # A shorter text has no deeper tree.
    level, depth = [tree] if len(source) > MOST_LEVELS else [], -1
    while level:
        level, depth = [child for node in level for child in node.children], depth + 1
    if depth > MOST_LEVELS:
        raise _too_deep()
    return tree


def _too_deep() -> InvalidExpression:
    return InvalidExpression([(0, f"is nested too deep, at most {MOST_LEVELS} levels are allowed")])


_Part = TypeVar("_Part")


class _Parser:
    """One pass over the tokens. `sign` is the text of the token at hand, if it is a sign or a name."""

    def __init__(self, source: str):
        self.source = source
        self.tokens = list(tokens(source))
        self.at = self.level = -1
        self.advance()

    def advance(self) -> None:
        """Go on to the next token; behind the last there is None."""
        self.at += 1
        self.token = self.tokens[self.at] if self.at < len(self.tokens) else None
        self.start = self.token.at if self.token else len(self.source)
        is_sign = self.token and self.token.kind in (Lexeme.SIGN, Lexeme.NAME)
        self.sign = self.token.text if self.token and is_sign else ""

    def take(self, sign: str) -> bool:
        taken = self.sign == sign
        if taken:
            self.advance()
        return taken

    def need(self, sign: str) -> None:
        if not self.take(sign):
            raise self.unexpected_token(repr(sign))

    def name(self, reserved: Collection[str] = RESERVED) -> Token:
        token = self.token
        if token is None or token.kind is not Lexeme.NAME:
            raise self.unexpected_token("a name")
        if token.text in reserved:
            raise InvalidExpression([(token.at, f"{token.text!r} is a word of the language and no name")])
        self.advance()
        return token

    def unexpected_token(self, wanted: str) -> InvalidExpression:
        """The error for the token at hand, which should be something else."""
        token, before = self.token, self.tokens[self.at - 1] if self.at else None
        if token is None:
            if before is None:
                return InvalidExpression([(0, "an expression is expected, this is empty")])
            missing = f", {wanted} is missing" if wanted[:1] == "'" else ""
            return InvalidExpression([(before.end - 1, f"the expression ends too early{missing}")])
        if token.kind is Lexeme.UNCLOSED:
            return InvalidExpression([(token.at, "the text that starts here has no closing quote")])
        meant = _FOREIGN.get(token.text) or (_FOREIGN.get(before.text) if before else None)
        hint = f"write {meant}" if meant else f"{wanted} is expected"
        return InvalidExpression([(token.at, f"{token.text!r} is not expected here; {hint}")])

    def several(self, end: str, one: Callable[[], _Part]) -> list[_Part]:
        """The parts between commas up to a closing sign; a comma may stand before that."""
        parts = []
        while not self.take(end):
            parts.append(one())
            if self.sign != end and not self.take(","):
                raise self.unexpected_token(repr(end))
        return parts

    # ---- levels

    def choice(self) -> SyntaxNode:
        self.level += 1
        if self.level > MOST_LEVELS:
            raise _too_deep()
        test, at = self.binary(1), self.start
        if self.take("?"):
            then = self.binary(1)
            self.need(":")
            other = self.choice()
            test = SyntaxNode(Kind.CHOICE, "?:", (test, then, other), at)
        self.level -= 1
        return test

    def binary(self, least: int) -> SyntaxNode:
        left = self.unary()
        while (binding := _BINDING.get(self.sign, 0)) >= least:
            sign, at = self.sign, self.start
            self.advance()
            right = self.binary(binding + 1)
            if binding > 2:
                left = SyntaxNode(Kind.BINARY, sign, (left, right), at)
            elif left.kind is Kind.LOGIC and left.text == sign:
                left = SyntaxNode(Kind.LOGIC, sign, (*left.children, right), left.at, (*left.flags, at))
            else:
                left = SyntaxNode(Kind.LOGIC, sign, (left, right), at, (at,))
        return left

    def unary(self) -> SyntaxNode:
        signs = []
        while self.sign in ("!", "-"):
            signs.append((self.sign, self.start))
            self.advance()
        number = None
        if self.token and self.token.kind is Lexeme.NUMBER and signs and signs[-1][0] == "-":
            number = SyntaxNode(Kind.LITERAL, "", (), signs.pop()[1], _number_of(self.token, "-"))
            self.advance()
        node = self.member(number)
        for sign, at in reversed(signs):
            node = SyntaxNode(Kind.UNARY, sign, (node,), at)
        return node

    def member(self, node: SyntaxNode | None = None) -> SyntaxNode:
        node = node or self.primary()
        while self.sign in (".", "["):
            at = self.start
            if self.take("["):
                optional = self.take("?")
                key = self.choice()
                self.need("]")
                node = SyntaxNode(Kind.ITEM, "", (node, key), at, optional)
                continue
            self.advance()
            optional = self.take("?")
            # A field may be called `loop`: only literals and `in` cannot be names of one.
            token = self.name((*LITERALS, "in"))
            if self.sign == "(" and not optional:
                node = self.method(node, token)
            else:
                node = SyntaxNode(Kind.FIELD, token.text, (node,), at, optional)
        return node

    def method(self, of: SyntaxNode, name: Token) -> SyntaxNode:
        self.advance()
        if of.kind is Kind.NAME and of.text == "optional":
            return self.call(Token(Lexeme.NAME, f"optional.{name.text}", of.at, name.end))
        following = self.tokens[self.at + 1].text if self.at + 1 < len(self.tokens) else ""
        if name.text in MACROS and following == ",":
            variable = self.name().text
            self.advance()
            parts = self.several(")", self.choice)
            if not 1 <= len(parts) <= (2 if name.text == "map" else 1):
                message = f"{name.text} takes one name and an expression; {_OUTSIDE.format('more')}"
                raise InvalidExpression([(name.at, message)])
            return SyntaxNode(Kind.LOOP, name.text, (of, *parts), name.at, variable)
        return SyntaxNode(Kind.METHOD, name.text, (of, *self.several(")", self.choice)), name.at)

    def call(self, name: Token) -> SyntaxNode:
        return SyntaxNode(Kind.CALL, name.text, tuple(self.several(")", self.choice)), name.at)

    def primary(self) -> SyntaxNode:
        token = self.token
        if token is None:
            raise self.unexpected_token("an expression")
        read = {Lexeme.TEXT: _text_of, Lexeme.NUMBER: _number_of}.get(token.kind)
        if read or self.sign in LITERALS:
            self.advance()
            value = read(token) if read else LITERALS[token.text]
            return SyntaxNode(Kind.LITERAL, "", (), token.at, value)
        if self.take("("):
            inner = self.choice()
            self.need(")")
            return inner
        if self.take("["):
            return self.collection(Kind.LIST, "]", token.at)
        if self.take("{"):
            return self.collection(Kind.MAP, "}", token.at)
        if self.take("has"):
            self.need("(")
            field = self.choice()
            self.need(")")
            if field.kind is not Kind.FIELD or field.value:
                raise InvalidExpression([(token.at, "has takes a field, as in has(a.b)")])
            return SyntaxNode(Kind.HAS, "has", (field,), token.at)
        if token.kind is not Lexeme.NAME:
            raise self.unexpected_token("an expression")
        self.name()
        if self.take("("):
            return self.call(token)
        return SyntaxNode(Kind.NAME, token.text, (), token.at)

    def collection(self, kind: Kind, end: str, at: int) -> SyntaxNode:
        """The entries in the brackets of a list or the braces of a map."""

        def entry() -> tuple[bool, list[SyntaxNode]]:
            optional, parts = self.take("?"), [self.choice()]
            if kind is Kind.MAP:
                self.need(":")
                parts.append(self.choice())
            return optional, parts

        entries = self.several(end, entry)
        parts = tuple(part for _, parts in entries for part in parts)
        return SyntaxNode(kind, "", parts, at, tuple(optional for optional, _ in entries))


# ---- templates --------------------------------------------------------------------------------

_BRACES = re.compile(r"""\{((?:[^{}'"]|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")+)\}""")


def template_parts(source: str) -> list[tuple[str, int]]:
    """Text, expression, text, ... of a template with their offsets: expressions at the odd places."""
    parts = []
    at = 0
    for match in _BRACES.finditer(source):
        parts += [(source[at : match.start()], at), (match[1], match.start(1))]
        at = match.end()
    return [*parts, (source[at:], at)]
