"""Who is let in: a secret is exchanged once, sessions end, and there are not many."""

from __future__ import annotations

from phasekeeper.server.page.browser_sessions import MOST_SESSIONS, SESSION_S, BrowserSessions

TOKEN = "t" * 43


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def cookie_of(header: str | None) -> str:
    assert header is not None
    return header.partition(";")[0]


def test_a_ticket_lets_in_once() -> None:
    sessions = BrowserSessions(TOKEN, 8000)
    ticket = sessions.new_ticket()
    header = sessions.exchange(ticket)
    assert header is not None and "; HttpOnly; SameSite=Strict; Path=/page;" in header
    assert sessions.is_open(cookie_of(header))
    assert sessions.exchange(ticket) is None


def test_the_token_lets_in_again_and_again_and_nothing_else_does() -> None:
    sessions = BrowserSessions(TOKEN, 8000)
    assert sessions.exchange(TOKEN) != sessions.exchange(TOKEN) is not None
    for wrong in ("", "t", TOKEN + "t", "\udcff", "é" * 43):
        assert sessions.exchange(wrong) is None


def test_the_cookie_of_another_port_or_of_nobody_is_none() -> None:
    sessions, other = BrowserSessions(TOKEN, 8000), BrowserSessions(TOKEN, 8001)
    mine, theirs = (cookie_of(each.exchange(TOKEN)) for each in (sessions, other))
    assert sessions.is_open(f"a=b; {theirs}; {mine}")
    for wrong in ("", theirs, "phasekeeper-8000", "phasekeeper-8000=", f"x{mine}", f"{mine}x"):
        assert not sessions.is_open(wrong)


def test_a_session_ends_after_its_time() -> None:
    clock = Clock()
    sessions = BrowserSessions(TOKEN, 8000, clock)
    cookie = cookie_of(sessions.exchange(TOKEN))
    clock.now = SESSION_S - 1
    assert sessions.is_open(cookie)
    clock.now = SESSION_S
    assert not sessions.is_open(cookie)


def test_of_too_many_sessions_the_first_ends() -> None:
    sessions = BrowserSessions(TOKEN, 8000)
    cookies = [cookie_of(sessions.exchange(TOKEN)) for _ in range(MOST_SESSIONS + 1)]
    assert [sessions.is_open(cookie) for cookie in cookies] == [False, *[True] * MOST_SESSIONS]
