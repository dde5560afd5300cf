"""What keeps a server that is started from outliving whoever started it, a killed one too."""

import shutil
from typing import Final

_SETPRIV: Final = shutil.which("setpriv")
WITH_US: Final = () if _SETPRIV is None else (_SETPRIV, "--pdeathsig", "TERM", "--")
"""Before a command: it is told to end when the thread that started it has ended.

A session of its own keeps a server from the signals of ours, and so from our end.  Of util-linux;
where that is not, only an orderly end is one of the server, too.
"""
