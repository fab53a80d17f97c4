"""The `fleet` of a root's configuration: an id of the project and what is shared, never a server."""

from __future__ import annotations

import pytest
from phasekeeper.orchestration.definition.root_config import FleetProject, read_config


@pytest.mark.parametrize(
    ("text", "declared"),
    [
        ("", None),
        ("fleet:\n", None),
        ("fleet: {}\n", None),
        ("fleet: {project: library}\n", FleetProject("library")),
        ("fleet: {project: library, share: ids}\n", FleetProject("library")),
        ("fleet: {project: my_lib-2, share: full}\n", FleetProject("my_lib-2", shares_texts=True)),
    ],
)
def test_a_project_is_declared(text: str, declared: FleetProject | None) -> None:
    config = read_config(text)
    assert (config.fleet, config.findings) == (declared, ())


@pytest.mark.parametrize(
    ("text", "declared", "said"),
    [
        ("fleet: library\n", None, "fleet must be a map"),
        ("fleet: {share: full}\n", None, "fleet needs project"),
        ("fleet: {project: [a]}\n", None, "fleet needs project"),
        ("fleet: {project: a/b}\n", None, "fleet needs project"),
        (f"fleet: {{project: {'a' * 41}}}\n", None, "fleet needs project"),
        ("fleet: {project: a, share: all}\n", FleetProject("a"), "share must be ids or full"),
        ("fleet: {project: a, server: nats://evil}\n", FleetProject("a"), "unknown key 'server' of fleet"),
    ],
)
def test_what_is_written_wrongly_is_said_and_shares_no_more(
    text: str, declared: FleetProject | None, said: str
) -> None:
    config = read_config(text)
    assert config.fleet == declared
    (found,) = config.findings
    assert found.message.startswith(said)
