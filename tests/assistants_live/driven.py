"""One assistant drives one run to its end; what was seen on the way."""

from __future__ import annotations

import os
import subprocess
import threading
from collections import Counter
from collections.abc import Iterator
from time import perf_counter

from tests.assistants_live.assistants import PROMPT, Assistant
from tests.assistants_live.crossing import crossed
from tests.assistants_live.model import serving
from tests.assistants_live.person import decide
from tests.assistants_live.scene import Scene
from tests.assistants_live.script import Script

REASON = "it was looked at in the drive"


def drive(assistant: Assistant, run: str, keep: bool) -> Iterator[str]:
    """Set up as README says, check, drive; sentences about what was seen. Raises AssertionError."""
    scene = Scene()
    try:
        scene.put(assistant.name, assistant.program)
        scene.set_up(assistant.title)
        yield _connected(assistant, scene)
        # What is told of a drive is about the drive alone.
        scene.forget()
        yield from _through(assistant, scene, run)
    except BaseException:
        keep = True
        raise
    finally:
        scene.end(keep)
        if keep:
            print(f"  all that was said is in {scene.home}")


def _connected(assistant: Assistant, scene: Scene) -> str:
    """What the assistant says of its connection.

    The first time the server has to be started as well, which on a busy machine may take longer than the 5 s
    that Gemini's list waits: then it is asked once more.
    """
    begin = perf_counter()
    try:
        return f"{assistant.connected(scene)} ({perf_counter() - begin:.1f} s from nothing)"
    except AssertionError as error:
        again = f"{assistant.connected(scene)}, once the server ran; before that: {str(error).strip()[-200:]}"
        return f"{again} (load average {os.getloadavg()[0]:.1f})"


def _through(assistant: Assistant, scene: Scene, run: str) -> Iterator[str]:
    decisions = Decisions(scene)
    script = Script(scene.repository, run, assistant.hands, decisions.make)
    begin = perf_counter()
    with serving(script, scene.model) as model:
        prompt = PROMPT.format(run=run)
        words = list(assistant.words(scene, prompt, model.address))
        done = scene.run(words, assistant.env(model.address))
    (scene.home / "assistant.out").write_text(done.stdout + done.stderr, encoding="utf-8")
    decisions.join()
    assert not model.faults, f"{model.faults}\n{_end(done)}"
    assert done.returncode == 0, _end(done)
    standing = scene.standing(run)
    assert standing["status"] == "complete", f"{standing['status']}: {standing['statusReason']}"
    took = perf_counter() - begin
    yield f"{run} is complete, {len(script.calls)} calls in {took:.1f} s: {_counted(script)}"
    yield f"decided by a person meanwhile: {', '.join(decisions.made) or 'nothing'}"
    yield from crossed(scene.said, scene.heard, scene.model, script)


def _end(done: subprocess.CompletedProcess[str]) -> str:
    return f"exit {done.returncode}\n{done.stdout[-2_000:]}\n{done.stderr[-2_000:]}"


def _counted(script: Script) -> str:
    return ", ".join(f"{name} {count}" for name, count in Counter(script.calls).items())


class Decisions:
    """What the person does, on a thread of their own while the assistant waits."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._threads: list[threading.Thread] = []
        self._errors: list[BaseException] = []
        self.made: list[str] = []

    def make(self, command: str) -> None:
        thread = threading.Thread(target=self._decide, args=(command,), daemon=True)
        self._threads.append(thread)
        thread.start()

    def _decide(self, command: str) -> None:
        try:
            decide(command, REASON, self._scene.repository, self._scene.env)
            self.made.append(command.partition(" --root")[0])
        except BaseException as error:
            self._errors.append(error)

    def join(self) -> None:
        """Raises what went wrong for the person."""
        for thread in self._threads:
            thread.join()
        if self._errors:
            raise self._errors[0]
