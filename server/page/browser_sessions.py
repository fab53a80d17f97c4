"""Who may look at the page in a browser: a secret is exchanged once for a session, which is a cookie.

A session may read, and nothing else. It lives in memory and ends with the server.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable
from time import monotonic

MOST_SESSIONS = 32
"""Browsers let in at one time; the one that came first gives way."""
SESSION_S = 12 * 3600.0
"""A session lasts a working day."""


class BrowserSessions:
    """Tickets, each good for one exchange, and the sessions that came of them.

    The bearer token of assistants is as good as a ticket, and stays so: who has it may do more anyway.
    """

    def __init__(self, token: str, port: int, clock: Callable[[], float] = monotonic) -> None:
        self._token = token
        self._clock = clock
        self._tickets: set[str] = set()
        self._ends: dict[str, float] = {}
        """Session -> when it ends, in the order in which they began."""
        # Cookies of one host are shared by all of its ports.
        self._cookie = f"phasekeeper-{port}"

    def new_ticket(self) -> str:
        ticket = secrets.token_urlsafe(32)
        self._tickets.add(ticket)
        return ticket

    def exchange(self, secret: str) -> str | None:
        """The value of the header Set-Cookie for a new session; None for a secret that lets nobody in."""
        if not self._is_token(secret):
            if secret not in self._tickets:
                return None
            self._tickets.remove(secret)
        session = secrets.token_urlsafe(32)
        while len(self._ends) >= MOST_SESSIONS:
            del self._ends[next(iter(self._ends))]
        self._ends[session] = self._clock() + SESSION_S
        age = int(SESSION_S)
        return f"{self._cookie}={session}; HttpOnly; SameSite=Strict; Path=/page; Max-Age={age}"

    def _is_token(self, secret: str) -> bool:
        return hmac.compare_digest(secret.encode("utf-8", "replace"), self._token.encode())

    def is_open(self, cookies: str) -> bool:
        """Whether the header Cookie names a session that has not ended."""
        for pair in cookies.split(";"):
            name, _, value = pair.strip().partition("=")
            if name == self._cookie and (end := self._ends.get(value)) is not None:
                if self._clock() < end:
                    return True
                del self._ends[value]
        return False
