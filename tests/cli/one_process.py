"""Several commands in one process of their own: to load the packages takes most of the time of a command."""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

CHILD = """
import json, os, sys
from mercer.cli import main
place, (closed, steps) = sys.argv[1], json.loads(sys.argv[2])
at_start = sys.stdin, sys.stdout, sys.stderr
for number, (words, streams) in enumerate(steps):
    for stream, file in streams.items():
        opened = os.open(file, os.O_RDONLY if stream == "0" else os.O_WRONLY | os.O_CREAT)
        os.dup2(opened, int(stream))
        os.close(opened)
    sys.argv[1:] = words
    sys.stdin, sys.stdout, sys.stderr = at_start
    for descriptor in closed:  # a command before may have put the null device there
        try:
            os.close(descriptor)
        except OSError:
            pass
    code = None
    try:
        main()
    except SystemExit as end:
        code = end.code
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    with open(f"{place}/{number}.code", "w") as file:
        file.write(str(code or 0))
"""


def together(*commands, closed=(), line="{}", stdin=None, stderr=None, **environment):
    """Exit codes, standard outputs and standard errors (bytes) of commands, one after another in one process.

    A command is a list of words. `stdin` and `stderr` are files by the number of the command, instead of nothing and of
    what is returned; `closed` are streams that every command finds closed; `line` is one of bash with the process
    in it.
    """
    with TemporaryDirectory() as place:
        steps = []
        for number, words in enumerate(commands):
            streams = {
                "0": (stdin or {}).get(number, os.devnull),
                "1": f"{place}/{number}.out",
                "2": (stderr or {}).get(number, f"{place}/{number}.err"),
            }
            open_ones = {stream: file for stream, file in streams.items() if int(stream) not in closed}
            steps.append((words, open_ones))
        line = line.format('"$@"') + "".join(f" {number}>&-" for number in closed)
        done = subprocess.run(  # noqa: S603 - our own command
            ["bash", "-c", line, "bash", sys.executable, "-c", CHILD, place, json.dumps([list(closed), steps])],  # noqa: S607
            capture_output=True,
            check=False,
            timeout=120,
            env={**os.environ, **environment},
        )
        assert done.returncode == 0, done.stderr.decode()
        return [
            (int(Path(place, f"{number}.code").read_text()), *(_read(place, number, end) for end in ("out", "err")))
            for number in range(len(commands))
        ]


def _read(place, number, end):
    path = Path(place, f"{number}.{end}")
    return path.read_bytes() if path.exists() else b""
