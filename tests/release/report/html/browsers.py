"""Pages opened in browsers without a screen, and what a script finds there.

A local server serves the pages and receives the results, so that every browser is run in the same
way, without its own driver. Pages are in frames, whose widths they adapt to.
"""

import json
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BROWSERS = {
    "chromium": ("--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0"),
    "firefox": ("--headless", "--no-remote"),
}
PROFILES = {"chromium": "--user-data-dir={}", "firefox": "--profile={}"}
NAMES = {"chromium": ("chromium", "chromium-browser"), "firefox": ("firefox-esr", "firefox")}

INDEX = """<!DOCTYPE html>
<meta charset="utf-8">
<title>pages to look at</title>
<body>
<script>
%(look)s
const opened = (frame) => new Promise((done) => {
  const wait = setInterval(() => {
    const { contentDocument } = frame;
    if (contentDocument?.documentElement?.dataset.ready !== "yes") return;
    clearInterval(wait);
    requestAnimationFrame(() => requestAnimationFrame(() => done(frame.contentWindow)));
  }, 20);
});
(async () => {
  const found = [];
  for (const one of %(cases)s) {
    const frame = document.createElement("iframe");
    frame.width = one.width;
    frame.height = 1400;
    frame.src = one.page;
    document.body.append(frame);
    found.push(await look(await opened(frame), one));
    frame.remove();
  }
  return found;
})().then(
  (found) => ({ found }),
  (error) => ({ error: `${error}` }),
).then((said) => fetch("found", { method: "POST", body: JSON.stringify(said) }));
</script>
"""


def browser_of(name):
    """Return the path of a browser; None where it is not installed."""
    return next(filter(None, map(shutil.which, NAMES[name])), None)


def run_cases(name, pages, cases, look, folder):
    """Open pages one after the other and return what ``look`` finds in each.

    Parameters
    ----------
    name : {"chromium", "firefox"}
    pages : dict of str to str
    cases : list of dict
        With ``page`` and ``width`` each, and whatever ``look`` goes by.
    look : str
        JavaScript: ``async function look(window, one)``, of plain values.
    folder : path
        For the browser's profile.
    """
    index = INDEX % {"look": look, "cases": json.dumps(cases)}
    texts = {"/": index} | {f"/{page}": text for page, text in pages.items()}
    replies, done = [], threading.Event()

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self):
            text = texts.get(self.path)
            self.send_response(404 if text is None else 200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write((text or "").encode())

        def do_POST(self):
            replies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(204)
            self.end_headers()
            done.set()

        def log_message(self, *_):
            pass

    profile = folder / f"profile-{name}"
    profile.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        options = (*BROWSERS[name], PROFILES[name].format(profile))
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        browser = subprocess.Popen([browser_of(name), *options, address], **quiet)
        try:
            assert done.wait(240), f"{name} did not answer"
        finally:
            browser.terminate()
            browser.wait(30)
            server.shutdown()
    assert "error" not in replies[0], replies[0]["error"]
    return replies[0]["found"]
