"""A web server on this machine that writes down what it is asked for.

It is a process of its own: GDAL keeps Python's lock while it waits for an answer.
"""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SERVER = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with open(sys.argv[1], "a") as log:
            log.write(self.path + "\\n")
        self.send_response(404)
        self.end_headers()
    do_HEAD = do_POST = do_GET
    def log_message(self, *said):
        pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


@dataclass(frozen=True)
class Listener:
    url: str
    log: Path

    @property
    def requests(self) -> list[str]:
        return self.log.read_text().splitlines()


@contextmanager
def listening(folder: Path) -> Iterator[Listener]:
    log = folder / "requests.log"
    log.write_text("")
    command = [sys.executable, "-c", SERVER, str(log)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield Listener(f"http://127.0.0.1:{int(server.stdout.readline())}", log)
        finally:
            server.kill()
