"""What calls of tools touch, by the names and fields that each client's hooks were seen to send."""

from __future__ import annotations

from typing import Any

import pytest
from phasekeeper.tools.fence.shell_writes import written_paths
from phasekeeper.tools.fence.tool_calls import OwnCall, Touches, touches_of

PATCH = """*** Begin Patch
*** Add File: x.py
+A = 1
*** Update File: y.py
*** Move to: z.py
*** Delete File: w.py
*** End Patch
"""
DIFF = "--- a/old.py\t2026-01-01\n+++ b/new.py\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/made.py\n"


@pytest.mark.parametrize(
    ("tool", "given", "paths"),
    [
        ("Write", {"file_path": "/r/a.py", "content": "x"}, ["/r/a.py"]),
        ("Edit", {"file_path": "a.py", "old_string": "path", "new_string": "b"}, ["a.py"]),
        ("NotebookEdit", {"notebook_path": "n.ipynb"}, ["n.ipynb"]),
        ("apply_patch", {"command": PATCH}, ["x.py", "y.py", "z.py", "w.py"]),
        ("apply_patch", {"input": DIFF}, ["old.py", "new.py", "made.py"]),
        ("replace", {"file_path": "a.md", "instruction": "x"}, ["a.md"]),
        ("create", {"path": "a.md"}, ["a.md"]),
        ("replace_string_in_file", {"filePath": "/r/a.md", "newString": "x"}, ["/r/a.md"]),
        (
            "multi_replace_string_in_file",
            {"replacements": [{"filePath": "a"}, {"filePath": "b"}]},
            ["a", "b"],
        ),
        ("run_in_terminal", {"command": "echo x > a.md", "isBackground": False}, ["a.md"]),
        ("MultiEdit", {"edits": [{"file_path": "a"}, {"file_path": "b"}, 3]}, ["a", "b"]),
        ("Bash", {"command": "echo x > a.md"}, ["a.md"]),
        ("run_shell_command", {"command": "rm a.md"}, ["a.md/"]),
        ("exec_command", {"cmd": ["rm", "a.md"]}, ["a.md/"]),
        ("mcp__files__write_file", {"path": "a"}, ["a"]),
        ("files-move_file", {"source": "a", "destination": "b"}, ["a/", "b/"]),
        ("mcp_files_createFile", {"uri": "file:///r/a"}, ["/r/a"]),
        ("mcp__phasekeeper__write_file", {"path": "a"}, ["a"]),
        ("Read", {"file_path": "a"}, []),
        ("Grep", {"path": "a", "pattern": "write"}, []),
        ("mcp__files__read_file", {"path": "a"}, []),
        ("TodoWrite", {"todos": [], "path": "a"}, []),
        ("WebFetch", {"url": "https://example.org"}, []),
        ("Write", {"file_path": 3}, []),
        ("Write", {}, []),
    ],
)
def test_paths_that_a_call_writes(tool: str, given: dict[str, Any], paths: list[str]) -> None:
    assert [*touches_of(tool, given).paths] == paths


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("Agent", {"subagent_type": "coder", "prompt": "x"}),
        ("Task", {"subagent_type": "coder"}),
        ("spawn_agent", {"agent_type": "coder", "message": "x"}),
        ("invoke_agent", {"agent_name": "coder"}),
        ("runSubagent", {"agentName": "coder", "prompt": "x"}),
        ("task", {"agent_type": "coder", "name": "e1"}),
    ],
)
def test_agents_that_a_call_starts(tool: str, given: dict[str, Any]) -> None:
    assert touches_of(tool, given) == Touches(agents=("coder",))


@pytest.mark.parametrize(
    "tool",
    [
        "mcp__phasekeeper__report",
        "mcp__plugin_pk_phasekeeper__report",
        "mcp_phasekeeper_report",
        "phasekeeper-report",
        "phasekeeper/report",
    ],
)
def test_our_own_tools_are_known_in_each_clients_spelling(tool: str) -> None:
    assert touches_of(tool, {"run": "r"}).own == OwnCall("report", {"run": "r"})


@pytest.mark.parametrize(
    ("command", "paths"),
    [
        ("echo x >> 'a b.txt' 2>&1", ["a b.txt"]),
        ("cat <<EOF > journal.jsonl\nhello\nEOF", ["journal.jsonl"]),
        ("printf x>d.txt", ["d.txt"]),
        ("make 2> err.log &> all.log", ["err.log", "all.log"]),
        ("rm -rf x -- -y && touch z", ["x/", "-y/", "z"]),
        ("FOO=1 sudo tee -a f < in", ["f"]),
        ("cp a/b c", ["c", "c/b"]),
        ("mv a b", ["a/", "b", "b/a"]),
        ("ls | tee out", ["out"]),
        ("git checkout HEAD -- plan.md", ["HEAD/", "plan.md/"]),
        ("cp -r notes/ tasks/f/", ["tasks/f", "tasks/f/notes"]),
        ("rm -rf tasks/*", ["tasks/*/"]),
        ("dd if=a of=b", ["b"]),
        ("for f in *; do echo $f >g; done", ["g"]),
        ("x=$(cat y >w)", ["w"]),
        ("cd tasks/f && echo x > plan.md", ["tasks/f/plan.md", "plan.md"]),
        ("cd /r; rm /s/a b", ["/s/a/", "/r/b/", "b/"]),
        ("echo 'a > b'", []),
        ("sed -n 1p a.md", []),
        ("git status; git log -- a.md", []),
        ("python -m pytest -q", []),
        ("cat a.md < b.md", []),
        ("", []),
        ("cp", [""]),
    ],
)
def test_what_stands_in_a_command_as_written(command: str, paths: list[str]) -> None:
    assert [*written_paths(command)] == [path for path in paths if path]


@pytest.mark.parametrize(
    "command", ["echo \"it's > f", "echo $(rm 'x", "\\", "a" * 100_000, "> " * 20_000, "\0>x"]
)
def test_any_command_can_be_looked_at(command: str) -> None:
    assert all(written_paths(command))


def test_the_files_that_are_edited_in_place_are_written() -> None:
    assert "MASTER_PLAN.md" in written_paths("sed -i 's/ /x/' MASTER_PLAN.md")
    assert "MASTER_PLAN.md" in written_paths("perl -pi -e 's/ /x/' MASTER_PLAN.md")
