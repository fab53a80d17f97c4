"""SSH signatures as values: what they cover, and that nothing else is read as one."""

from __future__ import annotations

from base64 import b64encode

import pytest
from phasekeeper.orchestration.journal.signatures import (
    MAX_SIGNATURE,
    SshSignature,
    armor,
    principal_of,
    read_signature,
    signed_text,
    strip_armor,
    verification_time,
)

RECORD = {"seq": 2, "kind": "answer", "prev": "0f0f", "why": "grün"}


def blob(*parts: bytes, version: int = 1, rest: bytes = b"") -> str:
    framed = b"".join(len(part).to_bytes(4) + part for part in parts)
    return b64encode(b"SSHSIG" + version.to_bytes(4) + framed + rest).decode()


def test_a_signature_says_which_key_made_it_and_for_what() -> None:
    text = blob(b"key", b"phasekeeper", b"", b"sha512", b"signature")
    read = read_signature(text)
    assert read is not None and read == SshSignature(b"key", "phasekeeper")
    assert read.fingerprint == "SHA256:LHDhK3oGRvkiefQnx7OOczTY5Tic/xZ6HcMOc/gmtoM"
    assert strip_armor(armor(text)) == text and all(len(line) <= 70 for line in armor(text).splitlines())


@pytest.mark.parametrize(
    "text",
    [
        None,
        5,
        "",
        "grün",
        "AAAA",
        "U1NIU0lH",
        blob(b"key", b"phasekeeper", b"", b"sha512", b"signature", version=2),
        blob(b"key", b"phasekeeper", b"", b"md5", b"signature"),
        blob(b"key", b"phasekeeper", b"", b"sha512"),
        blob(b"key", b"phasekeeper", b"", b"sha512", b"signature", b"more"),
        blob(b"key", b"phasekeeper", b"", b"sha512", b"signature", rest=b"x"),
        blob(b"key", b"phasekeeper", b"", b"sha512", rest=b"\0\0\0\xffsignature"),
        blob(b"k" * MAX_SIGNATURE, b"phasekeeper", b"", b"sha512", b"signature"),
    ],
)
def test_what_is_no_signature_is_none(text: object) -> None:
    assert read_signature(text) is None
    assert strip_armor(armor(str(text))) == "" and strip_armor(str(text)) == ""


def test_the_text_covers_repository_place_and_all_of_the_record_but_the_signature() -> None:
    text = signed_text("project a", "runs/a", RECORD)
    assert text == signed_text("project a", "runs/a", {**reversed_items(RECORD), "signature": "x"})
    others = [
        signed_text("project b", "runs/a", RECORD),
        signed_text("project a", "runs/b", RECORD),
        *(signed_text("project a", "runs/a", RECORD | {name: "x"}) for name in (*RECORD, "mac", "more")),
    ]
    assert text not in others
    with pytest.raises(ValueError, match="JSON"):
        signed_text("project a", "runs/a", {"n": float("nan")})


def reversed_items(record: dict[str, object]) -> dict[str, object]:
    return dict(reversed(record.items()))


@pytest.mark.parametrize(
    ("actor", "principal"),
    [("Ann <ann@example.org>", "ann@example.org"), ("ann", "ann"), ("a <b> <c>", "c"), ("<a b>", "<a b>")],
)
def test_who_decided_is_known_by_the_address(actor: str, principal: str) -> None:
    assert principal_of(actor) == principal


@pytest.mark.parametrize(
    ("at", "time"),
    [
        ("2026-11-30T09:58:09.123+00:00", "20261130095809"),
        ("2026-11-30T09:58:09Z", "20261130095809"),
        ("2026-11-30T09:58:09+01:00", ""),
        ("2026-11-30", ""),
        (None, ""),
    ],
)
def test_the_time_of_a_record_is_one_in_utc(at: object, time: str) -> None:
    assert verification_time(at) == time
