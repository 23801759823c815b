"""The configuration file of a team: flags that it sets once, in place of their defaults.

``DIALOGIST_CONFIG``, else ``~/.config/dialogist/config.yaml``. A flag or an environment variable of
its own wins. No file of the current folder is read: it may be a stranger's, and name a stranger's
server.
"""

from dialogist.config import Config
from dialogist.records import Unsupported


class TeamConfig(Config):
    """What may stand in the file; each is the flag of that name."""

    writer: str | None = None
    verify: str | None = None
    verifier: str | None = None
    unsupported: Unsupported | None = None
    form: str | None = None
    prompt: str | None = None
    cache: str | bool | None = None  # YAML reads on and off as true and false
    send_unmasked: bool | None = None
    allow_network: bool | None = None
