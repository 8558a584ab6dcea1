"""``python -m perfdb``: the same as the ``perfdb`` command."""

from perfdb.cli.entry import main

main()
