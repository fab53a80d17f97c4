"""JSON that is made in parts is the JSON that is made at once."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.server import json_chunks
from phasekeeper.server.json_chunks import dump

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES, st.integers(0, 4))
def test_parts_come_to_the_whole(value: object, deep: int) -> None:
    assert dump(value, deep).decode() == json.dumps(value)
    assert dump((value, [])).decode() == json.dumps([value, []])
    assert dump({"a": iter([value, value])}).decode() == json.dumps({"a": [value, value]})


def test_no_part_of_a_board_is_larger_than_a_run(monkeypatch) -> None:
    """One call of the encoder keeps all other threads waiting."""
    sizes: list[int] = []

    def counted(value: object) -> str:
        text = json.dumps(value)
        sizes.append(len(text))
        return text

    monkeypatch.setattr(json_chunks, "json", type("Json", (), {"dumps": staticmethod(counted)}))
    runs = [{"run": f"T{n}", "questions": [{"id": "q", "options": [{"id": "a"}] * 5}]} for n in range(500)]
    assert len(dump({"version": 1, "roots": [{"root": "/x", "runs": runs}]})) > 50_000
    assert max(sizes) < 200
