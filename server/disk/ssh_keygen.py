"""Running OpenSSH's `ssh-keygen -Y`: the one place that signs with a person's SSH key, and verifies.

The program comes from PATH, never from a workspace, and nothing a workspace says becomes an option of it:
each text is a value behind its option, in a file of ours, or standard input. What fails or takes long proves
nothing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from ...orchestration.journal.signatures import NAMESPACE, armor, strip_armor
from .git import program, setting

VERIFY_TIMEOUT_S, SIGN_TIMEOUT_S = 5.0, 120.0
"""A person may have to type a passphrase, or to touch a key, before something is signed."""
CHANGED = "the record is not what was signed"
_PROGRAM = "ssh-keygen"
_MAX_PRINCIPAL = 320
_LITERAL = re.compile(
    r"(?:key::)?((?:ssh|ecdsa|sk-ssh|sk-ecdsa)-[\w.@-]+ [A-Za-z0-9+/=]+)(?: .*)?\Z", re.ASCII
)
_TOO_OLD = re.compile(r"verify-time|(illegal|unknown|invalid) option", re.IGNORECASE)


class SigningError(Exception):
    """Nothing was signed; the text says why and what to do."""


class KeygenUnusable(Exception):  # noqa: N818 - said to people as it is
    """No signature can be verified here now; the text says why and what to do."""


# ---- signing ----------------------------------------------------------------------------------


def signing_key(root: Path, named: str = "") -> str:
    """The key that a person signs with: a file's path, or a public key whose other half an agent has.

    It is the `named` one, else git's `user.signingkey` where git signs with SSH. Raises SigningError.
    """
    key = named
    if not key and setting(root, "gpg.format") == "ssh":
        key = setting(root, "user.signingkey")
    if not key:
        raise SigningError(
            "no SSH key is known to sign with: --key FILE, or once and for all "
            "`git config --global gpg.format ssh` and `git config --global user.signingkey FILE`"
        )
    if literal := _LITERAL.match(key):
        return literal[1]
    path = Path(key).expanduser()
    if not path.is_file():
        raise SigningError(f"the SSH key {path} is no file; name another one with --key FILE")
    return str(path.absolute())


def sign(root: Path, key: str, text: bytes) -> str:
    """The signature over a text by a key of `signing_key`, as a record has it. Raises SigningError."""
    keygen = program(root, name=_PROGRAM)
    if keygen is None:
        raise SigningError("there is no ssh-keygen to sign with: install OpenSSH")
    with _folder() as folder:
        file = Path(key)
        if _LITERAL.match(key):
            file = folder / "key.pub"
            file.write_text(f"{key}\n", encoding="ascii")
        words = [keygen, "-Y", "sign", "-n", NAMESPACE, "-f", str(file)]
        code, written, said = _run(words, text, SIGN_TIMEOUT_S, dict(os.environ))
    signature = strip_armor(written) if code == 0 else ""
    if not signature:
        why = (said.strip().splitlines() or ["it says nothing"])[-1]
        raise SigningError(f"ssh-keygen did not sign with {key}: {why}; `ssh-add -l` lists an agent's keys")
    return signature


# ---- verifying --------------------------------------------------------------------------------


class SignatureCheck(NamedTuple):
    """What is to be verified: a signature of a text by one of the keys that are allowed for a principal.

    `allowed` is the text of a file in the form of ALLOWED SIGNERS of ssh-keygen(1); `at` is the time when the
    key had to be valid (YYYYMMDDHHMMSS, UTC)."""

    allowed: bytes
    principal: str
    at: str
    signature: str
    text: bytes


def require_keygen(root: Path) -> str:
    """The program. Raises KeygenUnusable where there is none outside of the workspace."""
    keygen = program(root, name=_PROGRAM)
    if keygen is None:
        raise KeygenUnusable("there is no ssh-keygen to verify it with: install OpenSSH 8.8 or newer")
    return keygen


def refusal(keygen: str, asked: SignatureCheck) -> str:
    """Why a signature does not hold; "" where it does. One process, some milliseconds.

    Raises KeygenUnusable where that cannot be told.
    """
    if not (0 < len(asked.principal) <= _MAX_PRINCIPAL and asked.principal.isprintable()):
        return "it names nobody who could have signed"
    try:
        with _folder() as folder:
            allowed, signature = folder / "allowed_signers", folder / "signature"
            allowed.write_bytes(asked.allowed)
            signature.write_text(armor(asked.signature), encoding="ascii")
            words = [keygen, "-Y", "verify", "-n", NAMESPACE, f"-Overify-time={asked.at}"]
            words += ["-f", str(allowed), "-I", asked.principal, "-s", str(signature)]
            code, _, said = _run(words, asked.text, VERIFY_TIMEOUT_S, _quiet_environment())
    except OSError as error:
        code, said = None, str(error)
    if code is None or (code and _TOO_OLD.search(said)):
        why = f"cannot be asked: {said}" if code is None else "is too old: install OpenSSH 8.8 or newer"
        raise KeygenUnusable(f"ssh-keygen {why}")
    return "" if code == 0 else _reason(said)


def _reason(said: str) -> str:
    """What ssh-keygen says, in our words: its own have paths of ours, and differ between versions."""
    if "incorrect signature" in said:
        return CHANGED
    if "expired" in said or "not yet valid" in said:
        return "the key was not valid at the time of the record"
    if "namespace" in said:
        return f"the key is not allowed to sign for {NAMESPACE}"
    return "the key is not among those of its signer"


# ---- the process ------------------------------------------------------------------------------


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder of this user alone, for what ssh-keygen takes from files only."""
    with TemporaryDirectory(prefix="phasekeeper-") as name:
        yield Path(name)


def _run(
    words: Sequence[str], text: bytes, timeout_s: float, env: dict[str, str]
) -> tuple[int | None, str, str]:
    """(exit code, what was written, what was said); without a code the process did not come to its end."""
    import subprocess  # late: most evaluations verify no signature

    try:
        done = subprocess.run(words, input=text, capture_output=True, timeout=timeout_s, check=False, env=env)
    except subprocess.TimeoutExpired:
        return None, "", f"no answer within {timeout_s:.0f} s"
    except (OSError, ValueError) as error:
        return None, "", str(error)
    return done.returncode, done.stdout.decode("ascii", "replace"), done.stderr.decode("utf-8", "replace")


def _quiet_environment() -> dict[str, str]:
    """No agent, no prompt, and times in UTC, also those of the allowed signers: alike on every machine."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("SSH_")}
    return kept | {"TZ": "UTC", "LC_ALL": "C"}
