"""Seed 000 driven by commands: components and their review in child sessions, then the pull request."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli_walkthroughs.driver import Drive

RUN = ".phasekeeper/sessions/P1"
SPAWN, REVIEW = "SpawnComponentDesignSessions", "SpawnReviewSession"
COMPONENTS = {
    "components": [
        {"id": "accounts", "artifact_path": "docs/accounts.md", "name": "Accounts"},
        {"id": "mail", "artifact_path": "docs/mail.md"},
    ]
}
REVIEW_FILE = "docs/review/P1_components_review.md"
PULL = "https://github.com/o/r/pull/7"


@pytest.fixture
def drive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Drive:
    return Drive(tmp_path, monkeypatch)


def session(name: str = "P1") -> str:
    return f".phasekeeper/sessions/{name}/session.json"


def reported(drive: Drive, step: str, outcome: str = "ok", data: object = None, *more: str) -> int:
    """Report a step; the exit code."""
    given = ("--data", "-") if data is not None else ()
    return drive.do("report", "P1", step, outcome, *more, *given, stdin=json.dumps(data)).code


def child(drive: Drive, name: str, **changes: Any) -> None:
    """What a child session's own agent writes into its file."""
    drive.write(session(name), {**drive.json(session(name)), **changes})


def ended(drive: Drive, name: str, document: str) -> None:
    """What the agent of a child session does: the document, then the report of it."""
    drive.write(document, "# A document\n")
    drive.do("report", name, "Write", "ok")


def designed(drive: Drive) -> None:
    """From the start to component sessions that are complete, with their files."""
    drive.start("component-design", "P1", "--title", "Accounts")
    reported(drive, "Initialize")
    reported(drive, SPAWN, "ok", COMPONENTS)
    for name in ("accounts", "mail"):
        ended(drive, name, f"docs/{name}.md")
    reported(drive, SPAWN)


def reviewed(drive: Drive) -> None:
    designed(drive)
    reported(drive, REVIEW)
    ended(drive, "P1-review", REVIEW_FILE)
    reported(drive, REVIEW)


def newest(drive: Drive) -> dict[str, Any]:
    return drive.json(session())["interactions"][0]


# ---- the way to the end -----------------------------------------------------------------------


def test_a_session_goes_from_start_to_complete(drive: Drive):
    assert drive.start("component-design", "P1", "--title", "Accounts") == RUN
    assert drive.suggestion(RUN) == ("stay", "Initialize")
    assert reported(drive, "Initialize", "ok", {"branch": "docs-accounts"}) == 0
    assert drive.suggestion(RUN) == ("advance", SPAWN)
    assert reported(drive, SPAWN, "ok", COMPONENTS) == 0
    assert (drive.phase(RUN), drive.suggestion(RUN)) == (SPAWN, ("wait", None))
    for name in ("accounts", "mail"):
        assert drive.suggestion(f".phasekeeper/sessions/{name}") == ("stay", "Write")
        ended(drive, name, f"docs/{name}.md")
        assert drive.evaluation(f".phasekeeper/sessions/{name}")["status"] == "complete"
    assert drive.suggestion(RUN) == ("stay", SPAWN)
    assert reported(drive, SPAWN) == 0
    assert drive.suggestion(RUN) == ("advance", REVIEW)
    assert reported(drive, REVIEW) == 0
    assert drive.suggestion(RUN) == ("wait", None)
    ended(drive, "P1-review", REVIEW_FILE)
    assert reported(drive, REVIEW) == 0
    assert drive.suggestion(RUN) == ("advance", "Finalize")
    assert reported(drive, "Finalize", "ok", {"pr_url": PULL}) == 0
    evaluation = drive.evaluation(RUN)
    assert (evaluation["status"], evaluation["suggestion"]["kind"]) == ("complete", "stop")
    assert evaluation["findings"] == []
    written = drive.json(session())
    assert written["status"] == "complete"
    assert written["state"]["pr_url"] == PULL
    assert written["state"]["finalized_at"] == newest(drive)["completed_at"]
    assert written["child_sessions"] == ["accounts", "mail", "P1-review"]
    steps = ["Finalize", REVIEW, REVIEW, SPAWN, SPAWN, "Initialize"]
    assert [step["command"]["module"] for step in written["interactions"]] == steps
    # A step that began its sessions has no ok before they are complete.
    results = [step["result"]["status"] for step in written["interactions"]]
    assert results == ["ok", "ok", "error", "ok", "error", "ok"]
    assert written["interactions"][4]["result"]["error_message"] == "Child sessions still running"


@pytest.mark.parametrize("status", ["active", "failed", "cancelled"])
def test_a_step_is_not_ok_while_one_of_its_sessions_is_not_complete(drive: Drive, status: str):
    designed(drive)
    child(drive, "mail", status=status)
    assert "every component session is complete" in drive.refused("report", "P1", SPAWN, "ok")
    child(drive, "mail", status="complete")
    reported(drive, REVIEW)
    child(drive, "P1-review", status=status)
    assert "the review session is complete" in drive.refused("report", "P1", REVIEW, "ok")
    (drive.root / "docs/mail.md").unlink()
    assert "every component session is complete" in drive.refused("report", "P1", SPAWN, "ok")


def test_a_child_session_is_not_complete_without_its_document(drive: Drive):
    drive.start("component-design", "P1")
    reported(drive, "Initialize")
    reported(drive, SPAWN, "ok", COMPONENTS)
    assert "these files exist: docs/mail.md" in drive.refused("report", "mail", "Write", "ok")
    assert "document" in drive.do("explain", "mail").out
    child(drive, "mail", status="complete")
    assert drive.suggestion(".phasekeeper/sessions/mail") == ("regress", "Write")
    assert "inconsistent-state" in drive.codes(".phasekeeper/sessions/mail")


def test_a_child_session_that_failed_needs_a_change_and_can_be_done_again(drive: Drive):
    drive.start("component-design", "P1")
    reported(drive, "Initialize")
    reported(drive, SPAWN, "ok", COMPONENTS)
    drive.write("docs/mail.md", "# Half of it\n")
    drive.do("report", "mail", "Write", "error", "--summary", "no source")
    failed = drive.json(session("mail"))
    assert (failed["status"], failed["error_message"]) == ("failed", "no source")
    said = drive.unchanged("report", "mail", "Write", "ok")
    assert "a file was changed since Write error: docs/mail.md" in said
    ended(drive, "mail", "docs/mail.md")
    assert drive.json(session("mail"))["status"] == "complete"
    drive.do("redo", "mail", "Write", "--reason", "the review wants more")
    assert drive.json(session("mail"))["status"] == "active"
    assert drive.suggestion(RUN) == ("wait", None)
    child(drive, "mail", status="cancelled")
    assert drive.evaluation(".phasekeeper/sessions/mail")["status"] == "blocked"


def test_an_interaction_has_the_shape_of_the_source(drive: Drive):
    drive.start("component-design", "P1")
    reported(drive, "Initialize", "ok", {"branch": "docs-accounts"})
    made = newest(drive)
    at = made["completed_at"]
    assert made == {
        "id": "2",
        "step_name": "Initialize",
        "command": {"module": "Initialize", "timestamp": at},
        "result": {"status": "ok", "data": {"branch": "docs-accounts"}},
        "completed_at": at,
    }
    assert [record["kind"] for record in drive.records(RUN)] == ["start", "report"]


def test_a_child_session_is_a_file_of_its_own_that_knows_its_parent(drive: Drive):
    drive.start("component-design", "P1")
    reported(drive, "Initialize")
    reported(drive, SPAWN, "ok", COMPONENTS)
    made = drive.json(session("accounts"))
    assert made.pop("inserted_at") == newest(drive)["completed_at"]
    assert made == {
        "id": "accounts",
        "type": "ComponentDesignSessions",
        "display_name": "Accounts",
        "session_id": "P1",
        "component_id": "accounts",
        "execution_mode": "agentic",
        "status": "active",
        "state": {"artifact_path": "docs/accounts.md"},
        "interactions": [],
        "child_sessions": [],
    }
    assert drive.json(session("mail"))["display_name"] == "mail"
    assert newest(drive)["command"]["metadata"] == {"child_session_ids": ["accounts", "mail"]}
    runs = [run["run"] for run in json.loads(drive.run("status", "--json").out)["runs"]]
    assert runs == [RUN, ".phasekeeper/sessions/accounts", ".phasekeeper/sessions/mail"]


def test_the_review_session_can_be_named_and_its_document_too(drive: Drive):
    designed(drive)
    reported(drive, REVIEW, "ok", {"review": {"id": "R-9", "artifact_path": "review/accounts.md"}})
    made = drive.json(session("R-9"))
    assert (made["type"], made["session_id"]) == ("ComponentDesignReviewSessions", "P1")
    assert made["state"] == {"artifact_path": "review/accounts.md"}
    ended(drive, "R-9", "review/accounts.md")
    # The session is found again, named or not.
    reported(drive, REVIEW)
    assert drive.suggestion(RUN) == ("advance", "Finalize")
    assert drive.json(session())["child_sessions"] == ["accounts", "mail", "R-9"]
    assert newest(drive)["command"]["metadata"] == {"child_session_ids": ["R-9"]}


def test_a_session_of_the_later_name_has_children_of_the_later_name(drive: Drive):
    drive.start("component-design", "P1")
    child(drive, "P1", type="Elixir.CodeMySpec.ContextComponentsSpecSessions")
    reported(drive, "Initialize")
    reported(drive, SPAWN, "ok", COMPONENTS)
    assert drive.json(session("mail"))["type"] == "ComponentSpecSessions"
    assert drive.suggestion(RUN) == ("wait", None)


# ---- loops ------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", ["error", "warning"])
def test_initialize_is_tried_until_it_succeeds(drive: Drive, outcome: str):
    drive.start("component-design", "P1")
    for _ in range(3):
        reported(drive, "Initialize", outcome, None, "--summary", "no network")
        assert drive.suggestion(RUN) == ("stay", "Initialize")
    assert newest(drive)["result"].get("error_message") == ("no network" if outcome == "error" else None)
    reported(drive, "Initialize")
    assert drive.suggestion(RUN) == ("advance", SPAWN)


@pytest.mark.parametrize("outcome", ["error", "warning"])
def test_finalize_is_tried_until_it_succeeds(drive: Drive, outcome: str):
    reviewed(drive)
    for _ in range(2):
        reported(drive, "Finalize", outcome, None, "--summary", "push rejected")
        assert drive.suggestion(RUN) == ("stay", "Finalize")
        assert drive.json(session())["status"] == "active"
    reported(drive, "Finalize", "ok", {"pr_url": PULL})
    assert drive.evaluation(RUN)["status"] == "complete"


def test_a_pull_request_that_nobody_named_is_not_made_up(drive: Drive):
    reviewed(drive)
    said = drive.refused("report", RUN, "Finalize", "ok")
    assert "pr_url (the https address of a pull request, as https://HOST/OWNER/NAME/pull/1" in said
    assert "pr_url" not in drive.json(session())["state"]


@pytest.mark.parametrize("outcome", ["error", "warning"])
def test_components_that_are_complete_after_a_failed_step_need_the_step_again(drive: Drive, outcome: str):
    designed(drive)
    reported(drive, SPAWN, outcome)
    assert drive.suggestion(RUN) == ("stay", SPAWN)
    reported(drive, SPAWN)
    assert drive.suggestion(RUN) == ("advance", REVIEW)


def test_spawning_again_finds_the_children_and_leaves_their_files_alone(drive: Drive):
    designed(drive)
    child(drive, "accounts", status="failed", note="mine")
    before = {name: drive.text(session(name)) for name in ("accounts", "mail")}
    more = {"components": [*COMPONENTS["components"], {"id": "tax", "artifact_path": "docs/tax.md"}]}
    reported(drive, SPAWN, "error", more)
    assert {name: drive.text(session(name)) for name in before} == before
    assert drive.json(session())["child_sessions"] == ["accounts", "mail", "tax"]
    reported(drive, SPAWN, "error", {"components": [{"id": "tax"}]})
    assert drive.json(session())["child_sessions"] == ["accounts", "mail", "tax"]
    # What was announced before is still owed.
    assert newest(drive)["command"]["metadata"] == {"child_session_ids": ["accounts", "mail", "tax"]}


def test_a_child_whose_file_was_lost_is_made_again_by_the_same_report(drive: Drive):
    designed(drive)
    (drive.root / session("mail")).unlink()
    assert drive.suggestion(RUN) == ("stay", SPAWN)
    reported(drive, SPAWN, "ok", COMPONENTS)
    assert drive.json(session("mail"))["status"] == "active"
    child(drive, "mail", status="complete")
    reported(drive, SPAWN)
    assert drive.suggestion(RUN) == ("advance", REVIEW)


def test_a_lost_review_session_is_made_again(drive: Drive):
    reviewed(drive)
    (drive.root / session("P1-review")).unlink()
    assert drive.suggestion(RUN) == ("stay", REVIEW)
    reported(drive, REVIEW)
    assert drive.suggestion(RUN) == ("wait", None)
    child(drive, "P1-review", status="complete")
    reported(drive, REVIEW)
    assert drive.suggestion(RUN) == ("advance", "Finalize")


# ---- people -----------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["failed", "cancelled"])
@pytest.mark.parametrize("option", ["retry", "fix"])
def test_a_component_session_that_did_not_succeed_asks_and_is_mended(drive: Drive, status: str, option: str):
    designed(drive)
    child(drive, "mail", status=status)
    assert reported(drive, SPAWN, "error") == 3
    (question,) = drive.questions(RUN)
    assert question == "components:4"
    assert drive.decide("answer", "P1", question, option, "--reason", "looked at it").code == 0
    assert drive.questions(RUN) == []
    assert drive.records(RUN)[-1]["option"] == option
    # The answer opens nothing by itself: the session is still to be mended.
    assert drive.suggestion(RUN) == ("stay", SPAWN)
    child(drive, "mail", status="complete")
    reported(drive, SPAWN)
    assert drive.suggestion(RUN) == ("advance", REVIEW)


def test_a_question_is_open_again_after_the_next_try(drive: Drive):
    designed(drive)
    child(drive, "mail", status="failed")
    drive.decide("answer", "P1", "components:3", "retry", "--reason", "once more")
    reported(drive, SPAWN, "error")
    assert drive.questions(RUN) == ["components:4"]


def test_a_session_without_components_asks(drive: Drive):
    drive.start("component-design", "P1")
    reported(drive, "Initialize")
    assert "its data names components" in drive.refused("report", "P1", SPAWN, "ok")
    reported(drive, SPAWN, "error")
    assert drive.questions(RUN) == ["components:2"]
    assert drive.suggestion(RUN) == ("stay", SPAWN)
    reported(drive, SPAWN, "ok", COMPONENTS)
    assert drive.questions(RUN) == []


def test_a_design_that_is_not_there_holds_the_session_back(drive: Drive):
    designed(drive)
    (drive.root / "docs/mail.md").unlink()
    assert drive.suggestion(RUN) == ("stay", SPAWN)
    assert drive.questions(RUN) == ["components:3"]
    assert "artifact-missing" in drive.codes(RUN)
    assert f"it is the turn of {SPAWN}" in drive.refused("report", "P1", REVIEW, "ok")
    drive.write("docs/mail.md", "# A design\n")
    assert drive.suggestion(RUN) == ("advance", REVIEW)


@pytest.mark.parametrize("option", ["retry", "fix"])
def test_a_review_that_did_not_succeed_asks_and_is_mended(drive: Drive, option: str):
    reviewed(drive)
    child(drive, "P1-review", status="failed")
    reported(drive, REVIEW, "error")
    (question,) = drive.questions(RUN)
    assert drive.decide("resolve", "P1", question, option, "--reason", "looked at it").code == 0
    assert drive.questions(RUN) == []
    child(drive, "P1-review", status="complete")
    assert drive.suggestion(RUN) == ("stay", REVIEW)
    reported(drive, REVIEW, "warning")
    assert drive.suggestion(RUN) == ("stay", REVIEW)
    reported(drive, REVIEW)
    assert drive.suggestion(RUN) == ("advance", "Finalize")


def test_a_failed_session_is_started_again(drive: Drive):
    designed(drive)
    child(drive, "P1", status="failed")
    assert drive.evaluation(RUN)["status"] == "waiting_human"
    drive.refused("report", "P1", REVIEW, "ok")
    assert drive.decide("answer", "P1", "session_failed:3", "retry", "--reason", "disk was full").code == 0
    assert drive.json(session())["status"] == "active"
    assert drive.suggestion(RUN) == ("advance", REVIEW)


def test_a_session_that_a_person_gives_up_stays_failed(drive: Drive):
    designed(drive)
    child(drive, "P1", status="failed")
    drive.decide("answer", "P1", "session_failed:3", "give_up", "--reason", "not needed any more")
    assert drive.evaluation(RUN)["status"] == "failed"
    assert drive.json(session())["status"] == "failed"
    drive.refused("report", "P1", REVIEW, "ok")


def test_a_cancelled_session_goes_nowhere(drive: Drive):
    designed(drive)
    child(drive, "P1", status="cancelled")
    evaluation = drive.evaluation(RUN)
    assert (evaluation["status"], evaluation["suggestion"]["suggestedNext"]) == ("blocked", None)


def test_an_override_goes_on_without_a_component(drive: Drive):
    designed(drive)
    child(drive, "mail", status="failed")
    decided = drive.decide("override", "P1", "--to", REVIEW, "--reason", "mail is designed elsewhere")
    assert decided.code == 0, decided
    record = drive.records(RUN)[-1]
    assert (record["kind"], record["next"], record["gates"]) == ("override", REVIEW, ["components-designed"])
    assert drive.phase(RUN) == REVIEW
    # The review session is begun with it.
    ended(drive, "P1-review", REVIEW_FILE)
    reported(drive, REVIEW)
    assert drive.suggestion(RUN) == ("advance", "Finalize")
    reported(drive, "Finalize", "ok", {"pr_url": PULL})
    assert drive.evaluation(RUN)["status"] == "complete"
    assert drive.json(session())["status"] == "complete"


def test_nothing_is_decided_for_a_person(drive: Drive):
    designed(drive)
    child(drive, "P1", status="failed")
    said = drive.refused("answer", "P1", "session_failed:3", "retry", "--reason", "I am an agent")
    assert "terminal" in said
    before = drive.files()
    assert drive.decide("answer", "P1", "session_failed:3", "retry", "--reason", "x", typed="no").code == 1
    assert drive.files() == before


# ---- back, and out of turn --------------------------------------------------------------------


def test_a_component_that_fails_later_takes_the_session_back(drive: Drive):
    reviewed(drive)
    reported(drive, "Finalize", "error")
    child(drive, "mail", status="failed")
    assert drive.suggestion(RUN) == ("regress", SPAWN)
    reported(drive, SPAWN, "error")
    child(drive, "mail", status="complete")
    reported(drive, SPAWN)
    assert drive.suggestion(RUN) == ("advance", REVIEW)


def test_a_step_out_of_turn_and_an_outcome_that_is_none_are_refused(drive: Drive):
    drive.start("component-design", "P1")
    assert "it is the turn of Initialize" in drive.refused("report", "P1", "Finalize", "ok")
    assert "ok, warning, error" in drive.wrong("report", "P1", "Initialize", "done")
    assert "did you mean" in drive.wrong("report", "P1", "Initialise", "ok")
    drive.refused("redo", "P1", "Initialize")


def test_a_step_that_is_none_of_the_four_is_invalid(drive: Drive):
    designed(drive)
    before = drive.json(session("P1"))["interactions"]
    dance = {"command": {"module": "Steps.Dance", "timestamp": "2999-01-01"}, "result": {"status": "ok"}}
    child(drive, "P1", interactions=[dance, *before])
    evaluation = drive.evaluation(RUN)
    assert (evaluation["status"], drive.codes(RUN)) == ("invalid", ["unknown-phase"])
    drive.refused("report", "P1", "Initialize", "ok")


# ---- what is written, and what is not ---------------------------------------------------------


@pytest.mark.parametrize("name", ["../../etc", "a/b", "..", "", "a\\b"])
def test_a_component_whose_id_is_no_name_is_refused(drive: Drive, name: str):
    drive.start("component-design", "P1")
    reported(drive, "Initialize")
    data = json.dumps({"components": [{"id": each, "artifact_path": "docs/x.md"} for each in ("fine", name)]})
    assert "is no id of a member" in drive.refused("report", "P1", SPAWN, "ok", "--data", "-", stdin=data)


@pytest.mark.parametrize("more", [{}, {"artifact_path": ""}, {"artifact_path": " "}])
def test_a_component_without_a_place_for_its_design_is_refused(drive: Drive, more: dict[str, str]):
    drive.start("component-design", "P1")
    reported(drive, "Initialize")
    data = json.dumps({"components": [{"id": "accounts", **more}]})
    assert "child_sessions" in drive.refused("report", "P1", SPAWN, "ok", "--data", "-", stdin=data)
    assert not (drive.root / ".phasekeeper/sessions/accounts").exists()


@pytest.mark.parametrize("components", ["accounts", [1], [{}], {"id": "accounts"}, 7])
def test_components_that_are_no_list_of_objects_with_ids_are_refused(drive: Drive, components: object):
    drive.start("component-design", "P1")
    reported(drive, "Initialize")
    data = json.dumps({"components": components})
    drive.refused("report", "P1", SPAWN, "ok", "--data", "-", stdin=data)


def test_a_session_that_belongs_to_another_parent_is_not_taken(drive: Drive):
    designed(drive)
    drive.start("component-design", "P2")
    drive.do("report", "P2", "Initialize", "ok")
    data = json.dumps(COMPONENTS)
    said = drive.refused("report", "P2", SPAWN, "ok", "--data", "-", stdin=data)
    assert f"{session('accounts')} exists already and belongs to another" in said


def test_what_others_wrote_survives_byte_for_byte(drive: Drive):
    own = (
        '{"type" : "ContextComponentsDesignSessions",\r\n'
        '   "weird": [1,2,   3.50],   "agent":null, "note": "\\u00fc",\r\n'
        '   "interactions": [\r\n'
        '      {"id":"p","command":{"module":"Initialize"},"result":null,   "events":[ null, 1e2 ]},\r\n'
        '      {"id":"q","command":{"module":"Initialize","pipe":null},"result":{"status":"error"}}\r\n'
        '   ],\r\n'
        '   "status":"active","child_sessions":[ ],"later":{"a":null}}'
    )  # fmt: skip
    drive.write(session(), own)
    reported(drive, "Initialize")
    text = drive.text(session())
    begin = own.index('{"id":"p"')
    end = own.index("   ],\r\n")
    assert text.startswith(own[: own.index("      {")])
    assert own[begin:end] in text
    assert '"later":{"a":null}' in text
    assert "\n" not in text.replace("\r\n", "")
    assert [step["id"] for step in drive.json(session())["interactions"]][1:] == ["p", "q"]
