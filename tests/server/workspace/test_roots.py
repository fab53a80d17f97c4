import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from phasekeeper.orchestration.findings import Problem
from phasekeeper.server.disk.disk_files import DiskFiles
from phasekeeper.server.disk.repository import toplevel
from phasekeeper.server.workspace.roots import UsageError, find_root, path_in_root, project_folders
from phasekeeper.server.workspace.workspace import open_path


def projects(root: Path, patterns: list[str]) -> tuple[list[str], tuple[Problem, ...]]:
    return project_folders(DiskFiles(root), patterns)


@pytest.fixture
def base(tmp_path):
    return tmp_path.resolve()


def made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def configured(folder: Path) -> Path:
    made(folder / ".phasekeeper").joinpath("config.yaml").write_text("")
    return folder


def nothing(_folder: Path) -> bool:
    return False


def test_the_nearest_folder_with_a_configuration_is_the_root(base):
    made(base / "repo" / ".git")
    configured(base / "repo")
    inner = configured(base / "repo" / "packages" / "a")
    assert find_root(made(inner / "src" / "deep"), nothing) == inner
    assert find_root(made(base / "repo" / "other"), nothing) == base / "repo"


def test_a_folder_with_a_fitting_run_is_the_root(base):
    made(base / "repo" / ".git")
    claimed = base / "repo" / "packages" / "a"
    assert find_root(made(claimed / "src"), lambda folder: folder == claimed) == claimed


def test_a_hidden_folder_is_no_root_by_the_runs_that_seem_to_lie_below_it(base):
    (base / ".orchestrator/tasks/x").mkdir(parents=True)
    asked = base / ".orchestrator/tasks/x"
    assert find_root(asked, lambda folder: folder.name == ".orchestrator" or folder == base) == base


def test_the_git_toplevel_is_the_root_when_nothing_is_claimed(base):
    made(base / "repo" / ".git")
    assert find_root(made(base / "repo" / "src"), nothing) == base / "repo"


def test_nothing_above_the_git_toplevel_is_looked_at(base):
    configured(base)
    made(base / "repo" / ".git")
    seen = []
    root = find_root(made(base / "repo" / "src"), lambda folder: seen.append(folder) or False)
    assert root == base / "repo"
    assert seen == [base / "repo" / "src", base / "repo"]


def test_without_git_the_folder_itself_is_the_root(base):
    assert find_root(made(base / "a" / "b"), nothing) == base / "a" / "b"


def test_without_git_a_configured_folder_above_is_found(base):
    configured(base / "a")
    assert find_root(made(base / "a" / "b"), nothing) == base / "a"


def test_a_file_stands_for_its_folder(base):
    made(base / "a").joinpath("plan.md").write_text("")
    assert find_root(base / "a" / "plan.md", nothing) == base / "a"


def test_a_relative_path_is_taken_from_the_current_folder(base, monkeypatch):
    made(base / "a")
    monkeypatch.chdir(base)
    assert find_root(Path("a"), nothing) == base / "a"
    assert find_root(Path(), nothing) == base


def test_a_path_through_a_link_belongs_to_the_folder_it_leads_to(base):
    made(base / "repo" / ".git")
    made(base / "repo" / "src")
    (base / "link").symlink_to("repo/src")
    assert find_root(base / "link", nothing) == base / "repo"


def test_a_configuration_that_is_a_folder_is_none(base):
    made(base / "a" / ".phasekeeper" / "config.yaml")
    assert find_root(made(base / "a" / "b"), nothing) == base / "a" / "b"


@pytest.mark.parametrize("name", ["none", "none/below", "file/below", "bad\0name", "circle"])
def test_a_path_that_does_not_exist_is_a_usage_error_that_names_it(base, name):
    (base / "file").write_text("")
    (base / "circle").symlink_to("circle")
    with pytest.raises(UsageError) as caught:
        find_root(base / name, nothing)
    assert repr(str(base / name)) in str(caught.value)
    assert str(caught.value).endswith(".")


def test_a_worktree_is_its_own_root(base):
    repo = made(base / "repo")
    for arguments in (
        ["init", "-q"],
        ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"],
        ["worktree", "add", "-q", "inner"],
    ):
        subprocess.run(["git", "-C", str(repo), *arguments], check=True, capture_output=True)
    assert (repo / "inner" / ".git").is_file()
    assert find_root(made(repo / "inner" / "src"), nothing) == repo / "inner"


def test_a_home_folder_kept_in_git_is_no_toplevel_for_what_lies_below(base, monkeypatch):
    made(base / "home" / ".git")
    configured(base / "home")
    monkeypatch.setenv("HOME", str(base / "home"))
    monkeypatch.setenv("USERPROFILE", str(base / "home"))
    below = made(base / "home" / "work" / "src")
    assert toplevel(below) is None
    assert find_root(below, nothing) == below
    assert find_root(base / "home", nothing) == base / "home"
    made(base / "home" / "work" / ".git")
    assert find_root(below, nothing) == base / "home" / "work"


def test_the_root_of_the_file_system_is_never_looked_at(base):
    seen = []
    find_root(base, lambda folder: seen.append(folder) or False)
    assert Path(base.anchor) not in seen
    assert len(seen) == len(base.parents)


def test_the_root_of_the_file_system_can_be_asked_for(base):
    assert find_root(Path(base.anchor), nothing) == Path(base.anchor)


def test_a_root_that_is_gone_selects_nothing(base):
    assert path_in_root(base / "gone", base / "elsewhere" / "x") is None


def test_a_user_without_a_home_folder_still_has_roots(base, monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    made(base / "repo" / ".git")
    assert find_root(made(base / "repo" / "a"), nothing) == base / "repo"


def test_projects_are_the_folders_that_fit_sorted_and_each_once(base):
    for name in ("packages/b", "packages/a", "apps/x", "packages/.hidden"):
        made(base / name)
    (base / "packages" / "README.md").write_text("")
    expected = ["apps/x", "packages/a", "packages/b"]
    assert projects(base, ["packages/*", "apps/x", "packages/a", "./packages/b"]) == (expected, ())


def test_a_project_that_is_a_link_out_of_the_root_is_refused(base):
    made(base / "outside")
    made(base / "root" / "packages" / "real")
    (base / "root" / "packages" / "out").symlink_to("../../outside")
    (base / "root" / "packages" / "in").symlink_to("real")
    assert projects(base / "root", ["packages/*"])[0] == ["packages/in", "packages/real"]
    assert projects(base / "root", ["packages/out"])[0] == []


@pytest.mark.parametrize("pattern", ["../x", "..", "a/../..", "", ".", "/", "a\0", "a\\b"])
def test_a_pattern_that_does_not_stay_below_the_root_is_a_problem(base, pattern):
    made(base / "root" / "a")
    made(base / "x")
    folders, problems = projects(base / "root", [pattern])
    assert folders == []
    assert problems[0].code == "parameter-invalid"
    assert repr(pattern) in problems[0].message


def test_a_pattern_that_fits_no_folder_is_a_problem(base):
    (base / "file").write_text("")
    assert [problem.message for problem in projects(base, ["none/*", "file"])[1]] == [
        "projects: 'none/*' fits no folder",
        "projects: 'file' fits no folder",
    ]


@given(patterns=st.lists(st.text(st.sampled_from("a*?[]!/.\\\0-"), max_size=8), max_size=3))
def test_no_pattern_raises(tmp_path_factory, patterns):
    root = tmp_path_factory.getbasetemp()
    for folder in projects(root, patterns)[0]:
        assert ".." not in folder.split("/") and (root / folder).is_dir()


def test_a_path_below_the_root_selects_its_relative_name(base):
    run = made(base / "root" / "tasks" / "T1")
    assert path_in_root(base / "root", run) == "tasks/T1"
    assert path_in_root(base / "root", run / "planning" / "plan.md") == "tasks/T1/planning/plan.md"
    assert path_in_root(base / "root", base / "root" / "x" / ".." / "tasks") == "tasks"


def test_the_root_itself_and_what_lies_outside_select_nothing(base):
    made(base / "root")
    made(base / "root-beside")
    for path in (base / "root", base, base / "root-beside", base / "root" / "..", base / "root" / ".." / "x"):
        assert path_in_root(base / "root", path) is None, path


def test_a_relative_selection_is_taken_from_the_current_folder(base, monkeypatch):
    made(base / "root" / "tasks")
    monkeypatch.chdir(base / "root" / "tasks")
    assert path_in_root(base / "root", Path("T1")) == "tasks/T1"


def test_a_link_inside_the_root_keeps_its_name(base):
    made(base / "root" / "real")
    (base / "root" / "current").symlink_to("real")
    assert path_in_root(base / "root", base / "root" / "current") == "current"


def test_a_root_reached_through_a_link_is_the_same_root(base):
    made(base / "root" / "tasks")
    (base / "alias").symlink_to("root")
    assert path_in_root(base / "root", base / "alias" / "tasks") == "tasks"
    assert path_in_root(base / "alias", base / "root" / "tasks") == "tasks"
    (base / "into").symlink_to("root/tasks")
    assert path_in_root(base / "root", base / "into") == "tasks"


def test_a_root_whose_name_differs_in_case_is_the_same_root_where_case_is_ignored(base, monkeypatch):
    made(base / "root" / "tasks")
    ordinary = Path.samefile

    def ignoring_case(one, other):
        return ordinary(Path(str(one).replace("ROOT", "root")), other)

    monkeypatch.setattr(Path, "samefile", ignoring_case)
    assert path_in_root(base / "root", base / "ROOT" / "tasks") == "tasks"


def test_a_folder_out_of_reach_counts_as_not_there(base, monkeypatch):
    made(base / "repo" / ".git")
    ordinary = os.stat

    def denied(path, **named):
        if str(path).endswith(".git"):
            raise PermissionError(13, "Permission denied")
        return ordinary(path, **named)

    monkeypatch.setattr(os, "stat", denied)
    assert toplevel(base / "repo") is None


TABLE = (
    "# F\n\n## Phase 1: A\n\n| Order | Task ID | File | Status |\n|---|---|---|---|\n"
    "| 1 | f-01 | `01.md` | [ ] |\n"
)


def test_the_plan_in_a_run_is_no_run_of_its_own(base: Path) -> None:
    run = made(base / "repo" / "tasks" / "f")
    made(base / "repo" / ".git")
    (run / "MASTER_PLAN.md").write_text(TABLE)
    for asked in (run, run / "MASTER_PLAN.md", made(run / "reports")):
        opened = open_path(asked)
        assert opened.workspaces[0].root == base / "repo"
        assert [match.run for match in opened.workspaces[0].matches] == ["tasks/f"]


def test_a_plan_file_beside_the_runs_of_a_root_above_is_a_root_of_its_own(base: Path) -> None:
    run, package = made(base / "repo" / "tasks" / "f"), made(base / "repo" / "package")
    made(base / "repo" / ".git")
    (run / "MASTER_PLAN.md").write_text(TABLE)
    (package / "PLAN.md").write_text("# Plan\n\n- [ ] do it\n")
    opened = open_path(package)
    assert opened.workspaces[0].root == package
    assert [match.run for match in opened.workspaces[0].matches] == ["PLAN.md#PLAN"]


def test_links_that_lead_in_a_circle_keep_their_place_in_the_root(base: Path) -> None:
    root = base / "root"
    root.mkdir(exist_ok=True)
    (root / "loop").symlink_to("loop")
    assert path_in_root(root, root / "loop" / "state.json") == "loop/state.json"
    assert path_in_root(root / "tasks", root / "loop") is None
