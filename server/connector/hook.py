"""A hook without the cost of a whole start: `python -I -S .../connector/hook.py CLIENT EVENT`.

`-S` leaves out the modules that `site` loads, half of the start of an interpreter. A package that is not
installed as files beside its dependencies (an editable one) is started as a command instead.
"""

import os
import sys


def _main() -> int:
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    if os.path.basename(package) != "phasekeeper":
        words = [sys.executable, "-I", "-m", "phasekeeper", "hook", *sys.argv[1:]]
        os.execv(words[0], words)
    sys.path.insert(0, os.path.dirname(package))
    from importlib import import_module

    hook_call = import_module("phasekeeper.server.connector.hook_call")
    return hook_call.run_hook(*sys.argv[1:]) if len(sys.argv) == 3 else 1


if __name__ == "__main__":
    sys.exit(_main())
