import errno
import os
import socket
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from phasekeeper.orchestration.vfs.files import Entry, File, digest_of
from phasekeeper.orchestration.vfs.glob import glob
from phasekeeper.orchestration.vfs.overlay import UNSAVED_MTIME_NS, OverlayFiles
from phasekeeper.server.disk import disk_files as module
from phasekeeper.server.disk import safe_open
from phasekeeper.server.disk.disk_files import MAX_BYTES, DiskFiles
from phasekeeper.server.disk.partial_saves import GRACE_MS, MAX_HOLD_MS
from phasekeeper.server.disk.safe_open import refusal

WAYS = {"descriptors": True, "names": False}


@pytest.fixture(params=sorted(WAYS))
def either_way(request, monkeypatch):
    """Both ways to reach a file: by folder descriptors (POSIX) and by resolved names (Windows)."""
    monkeypatch.setattr(safe_open, "_HAS_DESCRIPTORS", WAYS[request.param])
    return request.param


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


def message(file: File) -> str:
    assert file.problem is not None
    return file.problem.message


def state(file: File) -> str:
    """The digest of a file, or whether it is missing or cannot be read."""
    return file.digest or ("unreadable" if file.exists or file.refused else "missing")


def open_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0


def test_a_file_is_read_with_its_text_digest_size_and_time(root, either_way):
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "plan.md").write_bytes("\ufeffgrün\r\n".encode())
    file = DiskFiles(root).read("a/b/plan.md")
    raw = (root / "a" / "b" / "plan.md").read_bytes()
    assert file == File(
        "a/b/plan.md", True, "grün\r\n", digest_of(raw), len(raw), (root / "a/b/plan.md").stat().st_mtime_ns
    )


def test_an_answer_stays_the_same_for_the_life_of_the_view(root, either_way):
    (root / "state.json").write_text("{}")
    files = DiskFiles(root)
    first, names, missing = files.read("state.json"), files.list(""), files.read("later")
    (root / "state.json").write_text("changed")
    (root / "later").write_text("now")
    assert files.read("state.json") is first
    assert files.read("later") is missing
    assert files.list("") is names
    assert DiskFiles(root).read("state.json").text == "changed"


def test_missing_files_do_not_exist_and_are_no_problem(root, either_way):
    (root / "file").write_text("x")
    files = DiskFiles(root)
    for path in ("none", "none/below", "file/below", "n" * 300):
        assert files.read(path) == File(path), path


def test_a_missing_root_is_empty(tmp_path, either_way):
    files = DiskFiles(tmp_path / "gone")
    assert files.read("x") == File("x")
    assert files.list("") == {}
    assert files.unlisted_folders == {}


@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../x",
        "a/../../x",
        "/etc/passwd",
        "//etc/passwd",
        "a\0b",
        "",
        ".",
        "a//b",
        "a/./b",
        "a/",
        "a/\ud800",
    ],
)
def test_a_path_that_could_leave_the_root_is_refused(root, path, either_way):
    (root.parent / "x").write_text("secret")
    (root / "a").mkdir()
    files = DiskFiles(root)
    file = files.read(path)
    assert not file.exists
    assert file.text is None
    assert file.problem is not None
    assert state(files.read(path)) == "unreadable"
    if path:
        assert files.list(path) == {}


@pytest.mark.parametrize("path", ["a\\b", "C:/x", "C:", "state.json:stream", "..\\x"])
def test_on_windows_backslashes_and_colons_are_refused_too(path):
    assert refusal(path, windows=True)
    assert not refusal(path, windows=False)


def test_on_windows_an_ordinary_path_is_fine():
    assert refusal("a/b/plan.md", windows=True) is None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(
    path=st.lists(
        st.sampled_from(["/", "..", ".", "\\", "\0", "a", "link", "x", "\udc80", "\n"]), max_size=9
    ).map("".join)
)
def test_no_path_raises_or_reads_what_is_outside(root, path):
    (root.parent / "x").write_text("secret")
    (root / "a").mkdir(exist_ok=True)
    if not (root / "link").is_symlink():
        (root / "link").symlink_to("..")
    for has_descriptors in WAYS.values():
        module_files = DiskFiles(root)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(safe_open, "_HAS_DESCRIPTORS", has_descriptors)
            assert module_files.read(path).text is None
            assert "x" not in module_files.list(path)


def test_a_link_inside_the_root_is_followed(root, either_way):
    (root / "real").mkdir()
    (root / "real" / "plan.md").write_text("plan")
    (root / "to-file.md").symlink_to("real/plan.md")
    (root / "to-folder").symlink_to(root / "real", target_is_directory=True)
    (root / "deep").symlink_to("to-folder")
    files = DiskFiles(root)
    for path in ("to-file.md", "to-folder/plan.md", "deep/plan.md"):
        assert files.read(path).text == "plan", path
    names = files.list("")
    size, time = 4, (root / "real" / "plan.md").stat().st_mtime_ns
    assert names["to-file.md"] == Entry("to-file.md", "file", size, time, link=True)
    assert names["to-folder"] == Entry("to-folder", "folder", link=True)
    assert names["deep"].kind == "folder"
    assert list(files.list("deep")) == ["plan.md"]


@pytest.mark.parametrize(
    ("name", "half", "whole"),
    [("a.json", '{"ok": tr', '{"ok": true}'), ("a.md", "", "# A\n"), ("a.md", "# ", "# A\n")],
)
def test_with_grace_what_was_saved_this_moment_and_is_cut_off_is_read_again(
    tmp_path, monkeypatch, name, half, whole
):
    (tmp_path / name).write_text(half)
    assert DiskFiles(tmp_path).read(name).text == half
    waited = []

    def finish(seconds: float) -> None:
        waited.append(seconds)
        (tmp_path / name).write_text(whole)

    monkeypatch.setattr(module, "sleep", finish)
    monkeypatch.setattr(module, "time_ns", lambda: (tmp_path / name).stat().st_mtime_ns)
    files = DiskFiles(tmp_path, grace=True)
    assert files.read(name).text == whole
    assert len(waited) == 1
    assert waited[0] < GRACE_MS / 1000
    assert files.read(name).text == whole


def test_with_grace_a_file_that_stays_cut_off_is_given_in_the_end(tmp_path, monkeypatch):
    (tmp_path / "a.json").write_text("{")
    saved, waited = (tmp_path / "a.json").stat().st_mtime_ns, list[float]()
    monkeypatch.setattr(module, "sleep", waited.append)
    monkeypatch.setattr(module, "time_ns", lambda: saved + int(sum(waited) * 1e9) + 1_000_000)
    assert DiskFiles(tmp_path, grace=True).read("a.json").text == "{"
    assert sum(waited) == pytest.approx((GRACE_MS - 1) / 1000)
    monkeypatch.setattr(module, "time_ns", lambda: saved)
    waited.clear()
    files = DiskFiles(tmp_path, grace=True)
    assert files.read("a.json").text == "{"
    assert sum(waited) == pytest.approx(MAX_HOLD_MS / 1000)


def test_with_grace_an_old_file_and_a_whole_one_are_not_waited_for(tmp_path, monkeypatch):
    (tmp_path / "old.json").write_text("{")
    os.utime(tmp_path / "old.json", (1, 1))
    (tmp_path / "new.json").write_text("{}")
    waited = list[float]()
    monkeypatch.setattr(module, "sleep", waited.append)
    files = DiskFiles(tmp_path, grace=True)
    assert [files.read(f"{name}.json").text for name in ("old", "new", "none")] == ["{", "{}", None]
    assert waited == []


def test_a_link_out_of_the_root_is_never_read(root, either_way):
    outside = root.parent / "root-beside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    (root / "file").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    (root / "up").symlink_to("../root-beside")
    (root / "chain").symlink_to("folder")
    files = DiskFiles(root)
    for path in ("file", "folder/secret", "up/secret", "chain/secret"):
        file = files.read(path)
        assert not file.exists
        assert file.text is None
        assert message(file) == "the link leads out of the root"
        assert state(files.read(path)) == "unreadable"
    assert {entry.kind for entry in files.list("").values()} == {"other"}
    assert files.list("folder") == {}
    assert files.unlisted_folders["folder"].message == "the link leads out of the root"


def test_a_root_that_is_reached_through_a_link_reads_like_the_folder_itself(root, either_way):
    (root / "x").write_text("x")
    (root / "absolute").symlink_to(root / "x")
    (root.parent / "alias").symlink_to(root)
    files = DiskFiles(root.parent / "alias")
    assert files.read("x").text == files.read("absolute").text == "x"


def test_the_whole_file_system_can_be_a_root(tmp_path, either_way):
    (tmp_path / "x").write_text("x")
    path = str(tmp_path.resolve() / "x").lstrip("/")
    assert DiskFiles("/").read(path).text == "x"
    assert "x" in DiskFiles("/").list(path.rpartition("/")[0])


def test_links_in_a_circle_are_told_and_never_walked(root, either_way):
    (root / "one").symlink_to("two")
    (root / "two").symlink_to("one")
    (root / "self").symlink_to(".")
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "up").symlink_to("../../a")
    (root / "a" / "b" / "same").symlink_to("../b")
    files = DiskFiles(root)
    assert not files.read("one").exists
    assert "symbolic links" in message(files.read("one"))
    assert {name: files.list("")[name].kind for name in ("one", "self")} == {"one": "other", "self": "other"}
    assert {entry.kind for entry in files.list("a/b").values()} == {"other"}
    assert [path for path, _ in glob(files, "**/b")] == ["a/b"]


def test_what_is_no_file_is_not_absent(root, either_way):
    (root / "link").symlink_to("nowhere")
    (root / "folder").mkdir()
    (root / "to-folder").symlink_to("folder")
    files = DiskFiles(root)
    assert message(files.read("link")) == "the link leads to nothing"
    assert message(files.read("folder")) == message(files.read("to-folder")) == "it is a folder, not a file"
    for name in ("link", "folder", "to-folder"):
        assert files.read(name).refused and not files.read(name).exists
    assert files.list("")["link"].kind == "other"
    # Below a link or a folder a name may be missing like any other.
    assert files.read("to-folder/x") == File("to-folder/x")
    assert files.read("link/x") == File("link/x")


def test_a_pipe_a_socket_and_a_device_are_other_and_never_block(root, either_way):
    os.mkfifo(root / "pipe")
    (root / "to-pipe").symlink_to("pipe")
    names = ["pipe", "to-pipe"]
    with socket.socket(socket.AF_UNIX) as listener:
        # A socket's path may be 108 bytes long, so it is bound by a relative name.
        before = Path.cwd()
        os.chdir(root)
        listener.bind("socket")
        os.chdir(before)
        names.append("socket")
        if os.geteuid() == 0:
            os.mknod(root / "device", 0o600 | 0o020000, os.makedev(1, 5))
            names.append("device")
        files = DiskFiles(root)
        for name in names:
            assert message(files.read(name)) == "it is not a regular file"
            assert not files.read(name).exists
            assert files.list("")[name].kind == "other"
            assert state(files.read(name)) == "unreadable"


def test_a_pipe_that_takes_a_files_place_before_the_open_does_not_block(root, either_way, monkeypatch):
    (root / "state.json").write_text("{}")
    ordinary = os.open

    def swapped(name, flags, *rest, **named):
        if str(name).endswith("state.json"):
            (root / "state.json").unlink()
            os.mkfifo(root / "state.json")
        return ordinary(name, flags, *rest, **named)

    monkeypatch.setattr(os, "open", swapped)
    assert message(DiskFiles(root).read("state.json")) == "it is not a regular file"


@pytest.mark.parametrize("what", ["final name", "folder on the way"])
def test_a_link_that_takes_a_names_place_after_the_check_does_not_lead_out(root, what, monkeypatch):
    (root.parent / "outside").mkdir()
    (root.parent / "outside" / "state.json").write_text("secret")
    (root / "run").mkdir()
    (root / "run" / "state.json").write_text("{}")
    ordinary, swaps = os.open, []

    def swapped(name, flags, *rest, **named):
        if what == "final name" and name == "state.json" and not swaps:
            swaps.append((root / "run" / "state.json").unlink())
            (root / "run" / "state.json").symlink_to(root.parent / "outside" / "state.json")
        if what == "folder on the way" and name == "run" and not swaps:
            swaps.append((root / "run").rename(root / "moved"))
            (root / "run").symlink_to(root.parent / "outside")
        return ordinary(name, flags, *rest, **named)

    monkeypatch.setattr(os, "open", swapped)
    file = DiskFiles(root).read("run/state.json")
    assert swaps
    assert file.text is None
    assert message(file) == "the link leads out of the root"


def test_without_descriptors_a_path_that_changes_while_it_is_read_is_refused(root, monkeypatch):
    monkeypatch.setattr(safe_open, "_HAS_DESCRIPTORS", False)
    (root.parent / "outside").mkdir()
    (root.parent / "outside" / "state.json").write_text("secret")
    (root / "run").mkdir()
    (root / "run" / "state.json").write_text("{}")
    ordinary = os.open

    def swapped(name, flags, *rest, **named):
        (root / "run").rename(root / "moved")
        (root / "run").symlink_to(root.parent / "outside")
        return ordinary(name, flags, *rest, **named)

    monkeypatch.setattr(os, "open", swapped)
    before = open_descriptors()
    file = DiskFiles(root).read("run/state.json")
    assert file.text is None
    assert message(file) == "the path changed while it was read"
    assert open_descriptors() == before


def test_a_root_replaced_by_a_link_is_not_followed(root, monkeypatch):
    (root.parent / "outside").mkdir()
    (root.parent / "outside" / "x").write_text("secret")
    files = DiskFiles(root)
    root.rmdir()
    root.symlink_to(root.parent / "outside")
    assert files.read("x").text is None
    assert files.list("") == {}
    assert files.unlisted_folders[""].message == "the link leads out of the root"


def test_a_file_swapped_for_a_folder_is_a_missing_file(root, either_way):
    (root / "state.json").write_text("{}")
    files = DiskFiles(root)
    files.list("")
    (root / "state.json").unlink()
    (root / "state.json").mkdir()
    assert not files.read("state.json").exists


def test_a_file_that_vanishes_between_listing_and_reading_is_told(root, either_way):
    (root / "reports").mkdir()
    (root / "reports" / "1.md").write_text("x")
    files = DiskFiles(root)
    assert "1.md" in files.list("reports")
    (root / "reports" / "1.md").unlink()
    file = files.read("reports/1.md")
    assert not file.exists
    assert file.problem is not None
    assert file.problem.code == "artifact-missing"
    assert state(files.read("reports/1.md")) == "missing"


def test_a_name_that_vanishes_while_its_folder_is_listed_stays_in_the_listing(root, either_way, monkeypatch):
    (root / "link").symlink_to("target")
    (root / "target").write_text("x")

    def gone(_path):
        raise FileNotFoundError(errno.ENOENT, "gone")

    monkeypatch.setattr(os, "lstat", gone)
    assert DiskFiles(root).list("")["link"] == Entry("link", "other")


def test_a_file_of_fifty_megabytes_is_digested_but_not_read(root, either_way):
    with (root / "big.log").open("wb") as file:
        file.truncate(50 << 20)
    (root / "fits.log").write_bytes(b"x" * MAX_BYTES)
    files = DiskFiles(root)
    big = files.read("big.log")
    assert (big.exists, big.text, big.size) == (True, None, 50 << 20)
    assert big.digest == digest_of(bytes(50 << 20))
    assert message(big) == "the file is 50 MB; at most 8 MB are read"
    assert state(files.read("big.log")) == big.digest
    assert files.read("fits.log").problem is None


def test_one_byte_too_many_is_too_many(root):
    (root / "x").write_bytes(b"x" * (MAX_BYTES + 1))
    assert message(DiskFiles(root).read("x")) == "the file is 9 MB; at most 8 MB are read"


def test_the_digest_of_a_large_file_changes_with_its_last_byte(root):
    (root / "x").write_bytes(b"x" * (MAX_BYTES + 10))
    before = DiskFiles(root).read("x").digest
    (root / "x").write_bytes(b"x" * (MAX_BYTES + 9) + b"y")
    assert DiskFiles(root).read("x").digest != before


def test_a_terabyte_is_not_hashed(root):
    with (root / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    files = DiskFiles(root)
    file = files.read("sparse")
    assert (file.exists, file.text, file.digest) == (True, None, "")
    assert "1048576 MB" in message(file)
    assert state(files.read("sparse")) == "unreadable"


def test_a_file_that_grows_past_the_limit_while_it_is_hashed_gets_no_digest(root, monkeypatch):
    monkeypatch.setattr(module, "MAX_HASHED_BYTES", MAX_BYTES + 100)
    (root / "x").write_bytes(b"x" * (MAX_BYTES + 50))
    ordinary, grown = os.read, []

    def growing(descriptor, size):
        # The first read of one chunk's size is the one that hashes on behind the limit.
        if size == module._CHUNK and not grown:
            grown.append(True)
            with (root / "x").open("ab") as file:
                file.write(b"x" * 1000)
        return ordinary(descriptor, size)

    monkeypatch.setattr(os, "read", growing)
    assert DiskFiles(root).read("x").digest == ""
    assert grown


def test_text_that_is_not_utf8_is_unreadable_and_keeps_its_digest(root, either_way):
    (root / "x").write_bytes(b"ok\n\xff")
    files = DiskFiles(root)
    assert message(files.read("x")) == "not UTF-8: byte 0xff in line 2"
    assert state(files.read("x")) == digest_of(b"ok\n\xff")


def test_a_name_that_is_not_utf8_is_listed_and_told(root, either_way):
    try:
        (root / "caf\udce9.md").write_bytes(b"text")
    except OSError as error:
        # File systems that only take UTF-8 (APFS) cannot hold the case.
        assert error.errno == errno.EILSEQ
        return
    files = DiskFiles(root)
    (name,) = files.list("")
    assert name == "caf\udce9.md"
    file = files.read(name)
    assert (file.exists, file.text, file.digest) == (True, None, digest_of(b"text"))
    assert message(file) == "the name of the file is not UTF-8"


def test_a_torn_save_is_read_again(root, monkeypatch):
    path = root / "state.json"
    path.write_text('{"phase": "plan')
    ordinary, reads = os.read, []

    def saved_meanwhile(descriptor, size):
        reads.append(size)
        if len(reads) == 2:
            path.write_text('{"phase": "planning", "more": true}')
        return ordinary(descriptor, size)

    monkeypatch.setattr(os, "read", saved_meanwhile)
    assert DiskFiles(root).read("state.json").text == '{"phase": "planning", "more": true}'


def test_a_file_that_never_rests_is_unreadable(root, monkeypatch):
    path = root / "log"
    path.write_text("x")
    ordinary = os.read

    def growing(descriptor, size):
        data = ordinary(descriptor, size)
        if not data:
            with path.open("a") as file:
                file.write("more")
        return data

    monkeypatch.setattr(os, "read", growing)
    file = DiskFiles(root).read("log")
    assert file.exists
    assert message(file) == "the file changed each time it was read"


@pytest.mark.parametrize("call", ["read", "open"])
def test_an_error_of_the_disk_is_a_problem_of_an_existing_file(root, call, monkeypatch):
    (root / "x").write_text("x")

    def broken(*_arguments, **_named):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(os, call, broken)
    before = open_descriptors()
    files = DiskFiles(root)
    file = files.read("x")
    assert file.exists
    assert message(file) == "input/output error"
    assert state(files.read("x")) == "unreadable"
    assert open_descriptors() == before


def test_a_folder_that_cannot_be_listed_is_named(root, either_way, monkeypatch):
    def broken(*_arguments):
        raise OSError(errno.EIO, None)

    monkeypatch.setattr(os, "scandir", broken)
    files = DiskFiles(root)
    assert files.list("") == {}
    assert files.unlisted_folders[""].message == "the system could not read it"


def test_permission_denied_never_passes_for_absent():
    # Root ignores permissions, so the view is asked by a process that gave them up.
    script = textwrap.dedent("""
        import os, sys
        b"x".decode("utf-8-sig")  # loaded now: the interpreter's own files may be out of reach later
        from phasekeeper.server.disk.disk_files import DiskFiles
        if os.geteuid() == 0:
            os.seteuid(65534)
        files = DiskFiles(sys.argv[1])
        for path in ("secret", "closed/x", "passable/x"):
            file = files.read(path)
            print(path, file.exists, file.text, file.problem and file.problem.message)
        closed = files.unlisted_folders.items()
        print(files.list("closed"), files.list("passable"), {k: v.message for k, v in closed})
        print(files.list("")["secret"].kind, {path: file.digest for path, file in files.reads.items()})
    """)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        root.chmod(0o755)
        for name in ("closed", "passable"):
            (root / name).mkdir()
            (root / name / "x").write_text("x")
        (root / "secret").write_text("x")
        (root / "secret").chmod(0)
        (root / "closed").chmod(0)
        (root / "passable").chmod(0o711 if os.geteuid() == 0 else 0o311)
        done = subprocess.run(
            [sys.executable, "-c", script, folder], capture_output=True, text=True, check=False
        )
        (root / "closed").chmod(0o755)
        (root / "passable").chmod(0o755)
    assert done.stderr == ""
    passable = "True x None" if sys.platform == "linux" else "True None permission denied"
    assert done.stdout.splitlines() == [
        "secret True None permission denied",
        "closed/x True None permission denied",
        f"passable/x {passable}",
        "{} {} {'closed': 'permission denied', 'passable': 'permission denied'}",
        f"file {{'secret': '', 'closed/x': '', 'passable/x': '{digest_of('x')}'}}",
    ]


def test_names_are_listed_in_order_with_kind_size_and_time(root, either_way):
    for name in ("b.md", "a.md", "Z.md"):
        (root / name).write_text(name)
    (root / "sub").mkdir()
    names = DiskFiles(root).list("")
    assert list(names) == ["Z.md", "a.md", "b.md", "sub"]
    assert names["a.md"] == Entry("a.md", "file", 4, (root / "a.md").stat().st_mtime_ns)
    assert names["sub"] == Entry("sub", "folder")


def test_unsaved_text_wins_over_the_disk(root):
    (root / "plan.md").write_text("saved")
    files = OverlayFiles(DiskFiles(root), {"plan.md": "unsaved"})
    assert files.read("plan.md") == File(
        "plan.md", True, "unsaved", digest_of("unsaved"), 7, UNSAVED_MTIME_NS
    )
    assert files.list("")["plan.md"] == Entry("plan.md", "file", 7, UNSAVED_MTIME_NS)


def test_an_open_file_without_changes_reads_like_the_disk(root):
    (root / "plan.md").write_text("same")
    assert OverlayFiles(DiskFiles(root), {"plan.md": "same"}).read("plan.md") == DiskFiles(root).read(
        "plan.md"
    )


def test_unsaved_new_files_and_their_folders_are_listed(root):
    overlay = {"new/deep/plan.md": "x", "../out.md": "x", "other.md": ""}
    files = OverlayFiles(DiskFiles(root), overlay)
    assert files.list("") == {
        "new": Entry("new", "folder"),
        "other.md": Entry("other.md", "file", 0, UNSAVED_MTIME_NS),
    }
    assert list(files.list("new/deep")) == ["plan.md"]
    assert files.list("ne") == {}
    assert files.read("../out.md").text is None


def test_a_changed_overlay_does_not_change_a_view(root):
    overlay = {"x": "one"}
    files = OverlayFiles(DiskFiles(root), overlay)
    overlay["x"] = "two"
    assert files.read("x").text == "one"


def test_unsaved_text_with_half_a_character_is_unreadable(root):
    assert message(OverlayFiles(DiskFiles(root), {"x": "a\ud800"}).read("x")).startswith("not UTF-8")


def test_unsaved_text_past_the_limit_is_not_read(root):
    file = OverlayFiles(DiskFiles(root), {"x": "x" * (MAX_BYTES + 1)}).read("x")
    assert file.text is None
    assert message(file) == "the file is 9 MB; at most 8 MB are read"


def test_ten_thousand_names_are_all_listed(root, either_way):
    (root / "tasks").mkdir()
    for number in range(10_000):
        (root / "tasks" / f"{number}.md").touch()
    assert len(DiskFiles(root).list("tasks")) == 10_000


def test_no_descriptor_stays_open(root, either_way):
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "x").write_text("x")
    (root / "a" / "link").symlink_to("../..")
    os.mkfifo(root / "a" / "pipe")
    before = open_descriptors()
    files = DiskFiles(root)
    for path in ("a/b/x", "a/b/none", "a/none/x", "a/link", "a/link/x", "a/pipe", "a"):
        files.read(path)
        files.list(path)
    assert open_descriptors() == before


def test_a_close_that_fails_says_nothing_against_what_was_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/one.txt").write_text("said")
    close = os.close

    def failing(descriptor: int) -> None:
        close(descriptor)
        raise OSError(errno.EIO, "I/O error")

    monkeypatch.setattr(os, "close", failing)
    files = DiskFiles(tmp_path)
    read, missing, listed = files.read("a/one.txt"), files.read("a/two.txt"), files.list("a")
    monkeypatch.undo()
    assert (read.text, missing.exists, list(listed)) == ("said", False, ["one.txt"])
