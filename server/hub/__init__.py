"""The per-user server process: daemon, connections, front ends, feed of the live view, HTTP listener."""
