"""The command line: `mercer fit | predict | explain | certify | inspect`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; where its packages are missing, say how to install them."""
    try:
        import click  # noqa: F401 - only to see whether it is there
    except ImportError:
        sys.stderr.write("mercer: the command line needs click. Install it with: pip install 'mercer[cli]'\n")
        sys.exit(1)
    from mercer.cli.commands import cli

    cli(prog_name="mercer")
