"""The embedded model's own process: llama.cpp's HTTP server, and nothing of Mead.

Started as a plain script by `mead.providers.embedded`, never imported: llama.cpp must not run in a
process that gevent has patched (its threads would meet greenlets), and it holds the interpreter
while it loads a model.  Its contract, all of it:

- stdin: one line of JSON, the settings; then nothing, for as long as the parent lives.  The end of
  stdin is the end of this process.  No setting, the API key above all, is ever in an argument.
- stdout: one line of JSON, `{"address": "http://127.0.0.1:PORT"}` once the model is loaded, or
  `{"error": CODE}`; then nothing.
- stderr: whatever llama.cpp says.  It may hold prompts, so the parent keeps none of it.

It must be gone with its parent even when that is killed with -9, also while the model loads and no
line of Python runs.  So the kernel watches: stdin is set to signal its end (O_ASYNC), and the
default action of SIGIO ends the process.  PR_SET_PDEATHSIG would tie it to a thread instead.
"""

import fcntl
import json
import os
import select
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Final

SETTINGS_LIMIT_BYTES: Final = 65536
HTTP_THREADS: Final = 8
"""Enough for the calls that the provider lets through at once, with some left for /health."""


def main() -> None:
    """Serve until stdin ends."""
    os.nice(5)  # the conversations' own process goes first
    answer = os.dup(1)
    os.dup2(2, 1)  # whatever the library prints belongs to stderr
    settings = read_settings()
    die_with_stdin()
    try:
        server = serve(settings)
    except Exception as error:  # noqa: BLE001 - the parent is told by code, whatever it was
        tell(
            answer, {"error": "import_failed" if isinstance(error, ImportError) else "load_failed"}
        )
        raise SystemExit(1) from None
    tell(answer, {"address": server.listening_address})
    while os.read(0, 4096):
        pass
    os._exit(0)  # the server's threads would outlive a plain return


def read_settings() -> dict[str, Any]:
    """The one line that the parent writes."""
    line = bytearray()
    while not line.endswith(b"\n"):
        piece = os.read(0, 1)
        if not piece or len(line) > SETTINGS_LIMIT_BYTES:
            raise SystemExit(2)
        line += piece
    return json.loads(line)


def die_with_stdin() -> None:
    """Have the kernel end this process when the other end of stdin closes."""
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGIO})
    fcntl.fcntl(0, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_ASYNC)
    ended = select.poll()
    ended.register(0, select.POLLIN)
    if ended.poll(0):  # it closed before the kernel watched
        raise SystemExit(0)


def serve(settings: dict[str, Any]) -> Any:
    """The running server, its model loaded."""
    library = import_module("xllamacpp")  # optional; its absence is an answer
    if not Path(settings["model_file"]).is_file():
        raise FileNotFoundError
    return library.Server(parameters(library.CommonParams(), settings))


def parameters(params: Any, settings: dict[str, Any]) -> Any:
    """llama.cpp's parameters: loopback, a key, and no door beside the ones we use."""
    params.model.path = settings["model_file"]
    params.model_alias = {settings["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [settings["api_key"]]
    params.cors_origins = ""
    params.cors_headers = ""
    params.cors_methods = ""
    params.cors_credentials = False
    params.ui = False
    params.endpoint_slots = settings["slots"]
    params.endpoint_props = False
    params.endpoint_metrics = False
    params.n_ctx = settings["context"]
    params.n_parallel = settings["parallel"]
    params.n_threads_http = HTTP_THREADS
    params.cpuparams.n_threads = settings["threads"]
    params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_prompt = settings["cache_prompt"]
    params.cache_ram_mib = 0  # by default 8 GiB of old prompts
    params.use_jinja = True
    params.warmup = False
    params.verbosity = 0
    if settings["temperature"] is not None:
        params.sampling.temp = settings["temperature"]
    if settings["repeat_penalty"] is not None:
        params.sampling.penalty_repeat = settings["repeat_penalty"]
    return params


def tell(descriptor: int, message: dict[str, str]) -> None:
    """Write the one line of the answer and close it, so that nothing else can follow."""
    os.write(descriptor, json.dumps(message).encode() + b"\n")
    os.close(descriptor)


if __name__ == "__main__":
    # Not from this directory: its http.py and openai.py are not the modules that others mean.
    sys.path[:] = [entry for entry in sys.path if entry != str(Path(__file__).parent)]
    main()
