"""``python -m dialogist`` is the ``dialogist`` command."""

from dialogist.cli.main import main

main()
