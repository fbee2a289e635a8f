"""The playground: a page in the browser that tries sentences with trained models.

``playground.py`` and the command ``gardenpath-playground`` call :func:`playground_main`: it reads
the settings, finds the models, and serves the page on 127.0.0.1 and nowhere else. The server and
the models are imported when they are needed, so that mistakes are told at once.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import threading
import webbrowser
from importlib.util import find_spec
from pathlib import Path

from gardenpath import __version__
from gardenpath.console import console, exit_on_error, say
from gardenpath.errors import GardenpathError
from gardenpath.playground.settings import PlaygroundSettings, help_of, playground_settings_of
from gardenpath.util import plural

HOST = "127.0.0.1"

# Prints text as it is: it has no markup of ours.


def playground_main() -> None:
    """Run the command line of this process."""
    arguments = sys.argv[1:]
    program = Path(sys.argv[0]).name
    program = f"python {program}" if program.endswith(".py") else program
    if {"--help", "-h"} & {*arguments}:
        say(help_of(program))
        return
    if "--version" in arguments:
        console.print(f"Gardenpath {__version__}", highlight=False)
        return
    with exit_on_error():
        serve_playground(playground_settings_of(arguments))
        console.print("The playground has ended.")
        sys.stdout.flush()
        # A model that is loaded, or that scores a sentence in one step, cannot be interrupted.
        os._exit(0)


def serve_playground(settings: PlaygroundSettings) -> None:
    """Serve the page until the process is interrupted."""
    # Models of others are read from this machine; whatever is not there is not downloaded.
    os.environ["HF_HUB_OFFLINE"] = "1"
    if missing := [name for name in ("starlette", "uvicorn") if find_spec(name) is None]:
        raise GardenpathError(
            f"the playground needs {' and '.join(missing)}: pip install 'gardenpath[playground]', "
            "or in a checkout pip install -e '.[playground]' -c constraints.txt"
        )
    # The port is tried before anything that takes time.
    with bound(settings.port) as listening:
        address = f"http://{HOST}:{listening.getsockname()[1]}/"
        console.print("Looking for models …")
        from gardenpath.playground.models import ModelShelf
        from gardenpath.playground.server import PlaygroundServer

        shelf = ModelShelf(settings)
        for reason in shelf.skipped:
            say(f"skipped: {reason}")
        models = plural(len(shelf.models), "model")
        say(f"{models} in the playground at {address} (end with Ctrl-C)")
        if settings.browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        # Ctrl-C is how a playground ends; the server raises it again after it has ended.
        with contextlib.suppress(KeyboardInterrupt):
            PlaygroundServer(shelf, settings.limits).run(sockets=[listening])


def bound(port: int) -> socket.socket:
    """Return a socket that listens on this machine only."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((HOST, port))
        # Before the address is announced: who comes early waits instead of being refused.
        listening.listen()
    except OSError as error:
        listening.close()
        raise GardenpathError(
            f"port {port} cannot be used ({error.strerror}); another playground may be running: "
            "open its page, or set port=0 for any free port"
        ) from error
    return listening
