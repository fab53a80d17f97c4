"""The official conformance suite of the protocol, against the server that users run.

Our transport, sessions, guards and subscriptions serve what the suite asks for (`conformance/`). Two versions
of it are pinned, with what each of them checks; the extension for tasks is not spoken, and not asked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from phasekeeper.server.mcp.server import McpServer

from tests.server.mcp.conformance.server import ConformanceServer, Product, server_url
from tests.server.mcp.conformance.suite import SuiteResult, run_suite
from tests.server.mcp.rig import async_test

# Logging and sampling are deprecated in the newer protocol, and the older one has them.
pytestmark = pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")


class Version(NamedTuple):
    """A version of the suite on one wire, the scenarios and checks that it has for it, and its remarks."""

    package: str
    wire: str
    scenarios: int
    passed: int
    remarks: tuple[str, ...] = ()


# Answers that are cut off are not kept for a client that comes again: it asks again.
_NO_REPLAY = (
    "server-sse-polling: server-sse-priming-event",
    "server-sse-polling: server-sse-retry-field",
)
OLD = Version("conformance-2025", "", 32, 44, _NO_REPLAY)
HANDSHAKE = Version("conformance-2026", "2025-11-25", 33, 81, _NO_REPLAY)
MODERN = Version("conformance-2026", "2026-07-28", 40, 152)

GENERIC = ("completion-complete", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection")
OF_SESSIONS = (
    "server-initialize",
    "server-session-lifecycle",
    "ping",
    "server-sse-multiple-streams",
    "resources-subscribe",
    "resources-unsubscribe",
)
OF_ALONE = ("caching", "http-header-validation", "sep-2164-resource-not-found")
"""Scenarios of the stateless wire that need nothing to be there."""


async def result_of(kind: type[McpServer], version: Version, folder: Path) -> SuiteResult:
    options = ("--spec-version", version.wire) if version.wire else ()
    async with server_url(kind) as url:
        return await run_suite(version.package, url, folder, *options)


@pytest.mark.parametrize("version", (OLD, HANDSHAKE, MODERN), ids=("0.1.16", "0.2-handshake", "0.2-modern"))
@async_test
async def test_the_official_suite_finds_nothing_wrong(tmp_path: Path, version: Version) -> None:
    found = await result_of(ConformanceServer, version, tmp_path / "found")
    assert found.with_status("FAILURE") == []
    remarks = found.with_status("WARNING")
    assert [": ".join(remark.split(": ")[:2]) for remark in remarks] == list(version.remarks)
    assert (len(found.checks), found.pass_count()) == (version.scenarios, version.passed)


@pytest.mark.parametrize(
    ("version", "scenarios", "passed"),
    ((HANDSHAKE, GENERIC + OF_SESSIONS, 25), (MODERN, GENERIC + OF_ALONE, 38)),
    ids=("0.2-handshake", "0.2-modern"),
)
@async_test
async def test_the_product_alone_passes_what_needs_no_fixtures(
    tmp_path: Path, version: Version, scenarios: tuple[str, ...], passed: int
) -> None:
    found = (await result_of(Product, version, tmp_path / "found")).only(scenarios)
    assert found.with_status("FAILURE") == found.with_status("WARNING") == []
    assert found.pass_count() == passed
