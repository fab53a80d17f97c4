"""Hooks of other processes, answered by the server: it has the imports, and reads the runs on a thread."""

from __future__ import annotations

import asyncio
import os
from concurrent.futures import ThreadPoolExecutor

from ..connector.command_call import CODE, HEADER, STDERR, STDOUT, frame, frame_length
from ..connector.hook_call import MAX_INPUT
from .guarded_roots import KnownRuns
from .hook_answer import answer_bytes

_AT_ONCE = 4
"""Hooks that are answered at the same time; more wait for their turn."""
_MORE = 3 * 4096
"""Bytes of a call beside its event: client, event's name and folder."""

_threads = ThreadPoolExecutor(_AT_ONCE, "phasekeeper-hook")


async def serve_hook(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, known: KnownRuns) -> None:
    """Answer the one call of a connection."""
    length = frame_length(await reader.readexactly(HEADER))
    if length > MAX_INPUT + _MORE:
        raise ConnectionError("an event of a hook is too long")
    client, event, folder, sent = (await reader.readexactly(length)).split(b"\0", 3)
    loop = asyncio.get_running_loop()
    names = client.decode("ascii", "replace"), event.decode("utf-8", "replace"), os.fsdecode(folder)
    output = await loop.run_in_executor(_threads, answer_bytes, *names, sent, known)
    stderr = output.stderr.encode(errors="replace")
    writer.write(
        frame(STDOUT, output.stdout.encode()) + frame(STDERR, stderr) + frame(CODE, b"%d" % output.code)
    )
    await writer.drain()
