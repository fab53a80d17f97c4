"""Attestations of checks: in-toto Statements with the test-result predicate, in a signed DSSE envelope.

What a run of a check came to is one value; it is written as a Statement v1 (`STATEMENT`, `PREDICATE`), whose
subject is the digest over the inputs, and signed over DSSE's pre-authentication encoding with an HMAC: who
has no key of the repository writes none that counts. What the predicate has no field for stands in
`phasekeeper`, which other readers ignore.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

from .thresholds import Threshold

STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "https://in-toto.io/attestation/test-result/v0.1"
PAYLOAD_TYPE = "application/vnd.in-toto+json"
KEY_ID = "phasekeeper-repository"
_PURPOSE = b"phasekeeper evidence v1"

PERSON, HEAD = "person", "head"
"""Who trusted the definition: a person did, or the commit HEAD holds it (`verify --trust-head`)."""


class ReportDigest(NamedTuple):
    """A report that a check wrote; `digest` is SHA-256 of its bytes in hexadecimal digits."""

    kind: str
    path: str
    digest: str


class LocatedFinding(NamedTuple):
    """A failed test or an issue, at the place in the source that a report names; lines from 1, 0: none."""

    code: str
    severity: str
    message: str
    path: str
    line: int = 0


@dataclass(frozen=True)
class Totals:
    """The numbers of the reports; None where no report has such."""

    total: int | None = None
    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    lines: float | None = None
    branches: float | None = None
    error: int | None = None
    warning: int | None = None
    note: int | None = None


class PassedResult(NamedTuple):
    """The last result that passed before: its numbers, and how wide it looked."""

    ended_at: str
    totals: Totals
    inputs: int
    patterns: tuple[str, ...] = ()
    thresholds: tuple[Threshold, ...] = ()


@dataclass(frozen=True)
class Attestation:
    """The result of one run of a check. `subject` names its inputs, `definition` what was run.

    `problem` says why it failed other than by its exit code. `changed` are inputs that changed meanwhile:
    then nobody knows on which bytes it was made, and it never counts as fresh. `exit_code` is None where the
    program did not end by itself.
    """

    check: str
    root: str
    passed: bool
    subject: str
    definition: str
    inputs: int
    started_at: str
    ended_at: str
    exit_code: int | None = None
    problem: str = ""
    changed: tuple[str, ...] = ()
    reports: tuple[ReportDigest, ...] = ()
    totals: Totals = Totals()
    passed_tests: tuple[str, ...] = ()
    failed_tests: tuple[str, ...] = ()
    findings: tuple[LocatedFinding, ...] = ()
    before: PassedResult | None = None
    patterns: tuple[str, ...] = ()
    thresholds: tuple[Threshold, ...] = ()
    actor: str = ""
    trust: str = PERSON
    program: str = ""
    command: tuple[str, ...] = field(default=())


# ---- writing ----------------------------------------------------------------------------------


def envelope(attestation: Attestation, secret: bytes) -> str:
    """The text of the signed envelope."""
    payload = json.dumps(statement(attestation), indent=1, sort_keys=True).encode("ascii")
    signature = {"keyid": KEY_ID, "sig": base64.b64encode(_signature(payload, secret)).decode("ascii")}
    text = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode("ascii"),
        "signatures": [signature],
    }
    return json.dumps(text, indent=1) + "\n"


def statement(attestation: Attestation) -> dict[str, Any]:
    """The Statement v1 of an attestation, as plain data."""
    own = {
        name: value
        for name, value in asdict(attestation).items()
        if name not in ("passed_tests", "failed_tests", "subject", "reports", "passed")
    }
    # A NamedTuple is a list to JSON; by name it can be read by people, and have more fields one day.
    own["findings"] = [each._asdict() for each in attestation.findings]
    own["before"] = _passed_result(attestation.before) if attestation.before else None
    own["thresholds"] = [each._asdict() for each in attestation.thresholds]
    configuration = [
        {"name": each.kind, "uri": each.path, "digest": {"sha256": each.digest}}
        for each in attestation.reports
    ]
    return {
        "_type": STATEMENT,
        "subject": [{"name": "inputs", "digest": {"sha256": attestation.subject}}],
        "predicateType": PREDICATE,
        "predicate": {
            "result": "PASSED" if attestation.passed else "FAILED",
            "configuration": configuration,
            "passedTests": list(attestation.passed_tests),
            "failedTests": list(attestation.failed_tests),
            "phasekeeper": own,
        },
    }


def _passed_result(before: PassedResult) -> dict[str, Any]:
    thresholds = [each._asdict() for each in before.thresholds]
    return before._asdict() | {"totals": asdict(before.totals), "thresholds": thresholds}


def _signature(payload: bytes, secret: bytes) -> bytes:
    """HMAC-SHA256 over DSSE's encoding of type and payload, with a key that signs nothing else."""
    kind = PAYLOAD_TYPE.encode("ascii")
    encoded = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
    return hmac.digest(hmac.digest(secret, _PURPOSE, "sha256"), encoded, "sha256")


# ---- reading ----------------------------------------------------------------------------------


class AttestationError(Exception):
    """Why a text is no attestation that counts, as the end of a sentence about its file."""


def read_envelope(text: str, secret: bytes | None) -> Attestation:
    """The attestation in a text. Raises AttestationError for one without a signature of the key."""
    try:
        data = json.loads(text)
        payload = base64.b64decode(data["payload"], validate=True)
        signatures = [base64.b64decode(each["sig"], validate=True) for each in data["signatures"]]
        kind = data["payloadType"]
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error):
        raise AttestationError("is no signed envelope") from None
    if kind != PAYLOAD_TYPE:
        raise AttestationError("holds no in-toto statement")
    if secret is None:
        raise AttestationError("cannot be checked, for there is no key here that signed it")
    expected = _signature(payload, secret)
    if not any(hmac.compare_digest(expected, each) for each in signatures):
        raise AttestationError("is not signed with the key of this repository")
    try:
        return _attestation(json.loads(payload))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        raise AttestationError("is signed, but of another form than this version reads") from None


def _attestation(data: Mapping[str, Any]) -> Attestation:
    if data["_type"] != STATEMENT or data["predicateType"] != PREDICATE:
        raise ValueError(data["_type"])
    predicate = data["predicate"]
    own = predicate["phasekeeper"]
    before = own["before"]
    reports = (
        ReportDigest(each["name"], each["uri"], each["digest"]["sha256"])
        for each in predicate["configuration"]
    )
    return Attestation(
        check=own["check"],
        root=own["root"],
        passed=predicate["result"] == "PASSED",
        subject=data["subject"][0]["digest"]["sha256"],
        definition=own["definition"],
        inputs=own["inputs"],
        started_at=own["started_at"],
        ended_at=own["ended_at"],
        exit_code=own["exit_code"],
        problem=own["problem"],
        changed=tuple(own["changed"]),
        reports=tuple(reports),
        totals=Totals(**own["totals"]),
        passed_tests=tuple(predicate["passedTests"]),
        failed_tests=tuple(predicate["failedTests"]),
        findings=tuple(LocatedFinding(**each) for each in own["findings"]),
        before=_read_passed_result(before) if before else None,
        patterns=tuple(own["patterns"]),
        thresholds=_read_thresholds(own),
        actor=own["actor"],
        trust=own["trust"],
        program=own["program"],
        command=tuple(own["command"]),
    )


def _read_passed_result(data: Mapping[str, Any]) -> PassedResult:
    return PassedResult(
        data["ended_at"],
        Totals(**data["totals"]),
        data["inputs"],
        tuple(data["patterns"]),
        _read_thresholds(data),
    )


def _read_thresholds(data: Mapping[str, Any]) -> tuple[Threshold, ...]:
    """The thresholds in a result; one that was made before they were kept has none."""
    return tuple(Threshold(**each) for each in data.get("thresholds", ()))
