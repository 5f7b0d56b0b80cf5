"""A headless Chromium for tests, driven through its DevTools pipe with the standard library.

    with Browser(width=1200, height=900) as page:
        page.open("file:///tmp/page.html")
        page.run("document.title")
        page.key("ArrowDown")
        page.shot("page.png")

run() returns an expression's value, and raises what the page throws.  What the page writes to the
console, and what its policy refuses, is in page.problems; what it asks the network for in
page.requests.

A Chromium takes a second of a processor to start.  `python3 browser.py SOCKET` starts one and lends it, to one Browser
after another, for which TG_BROWSER names the socket; each has a context of its own, with nothing of those before.
"""
import base64
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import struct
import sys
import tempfile
import time
import zlib


def find():
    """One without windows first, which takes a quarter less of a processor."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next((p for p in map(shutil.which, names) if p), None)


class Chromium:
    """The process: what is written to `to` it reads, and it answers in `back`."""

    def __init__(self, width, height):
        self.profile = tempfile.mkdtemp(prefix="browser.")
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        command = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
                   "--no-first-run", "--disable-background-networking", "--disable-dev-shm-usage",
                   f"--user-data-dir={self.profile}", f"--window-size={width},{height}", "about:blank"]

        def as_3_and_4():  # where Chromium wants the pipe
            r, w = os.dup(to_read), os.dup(to_write)
            os.dup2(r, 3)
            os.dup2(w, 4)

        self.process = subprocess.Popen(command, preexec_fn=as_3_and_4, close_fds=False,
                                        env={**os.environ, "TMPDIR": self.profile},  # removed with it
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(to_read)
        os.close(to_write)

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # its children too: they would make the folder again
        self.process.wait()
        for _ in range(40):  # they may end after it, and write until then
            shutil.rmtree(self.profile, ignore_errors=True)
            if not os.path.exists(self.profile):
                break
            time.sleep(0.05)


class Lent:
    """The same, of the process that listens there."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.to = self.back = self.socket.fileno()

    def close(self):
        self.socket.close()


class Browser:
    def __init__(self, width=1200, height=900, dark=False, scale=1):
        lent = os.environ.get("TG_BROWSER")
        self.end = Lent(lent) if lent else Chromium(width, height)
        self.to, self.back = self.end.to, self.end.back
        # an answer to somebody before has another number
        self.pending, self.sent, self.session = b"", os.getpid() % 100000 * 10000, None
        self.problems, self.requests, self.loaded = [], [], False
        self.context = self.call("Target.createBrowserContext", disposeOnDetach=True)["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=self.context)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=False)
        self.theme("dark" if dark else "light")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.browser_call("Target.disposeBrowserContext", browserContextId=self.context)
        except (EOFError, OSError):
            pass  # it has ended
        self.end.close()

    # The longest wait, in seconds.  It ends a test that would never end; none depends on the machine's speed.
    LONG = 600

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.pending:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.back], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            data = os.read(self.back, 1 << 20)
            if not data:
                raise EOFError("the browser has ended")
            self.pending += data
        message, self.pending = self.pending.split(b"\0", 1)
        message = json.loads(message)
        self.note(message)
        return message

    def note(self, message):
        method, about = message.get("method"), message.get("params", {})
        if message.get("sessionId") != self.session:
            return
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(about["exceptionDetails"])[:2000])
        elif method == "Runtime.consoleAPICalled":
            self.problems.append(" ".join(str(a.get("value")) for a in about["args"]))
        elif method == "Log.entryAdded":
            self.problems.append(about["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def call(self, method, seconds=LONG, **params):
        self.sent += 1
        message = {"id": self.sent, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.receive(seconds)
            if answer.get("id") == self.sent:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def open(self, url):
        self.loaded = False
        self.call("Page.navigate", url=url)
        while not self.loaded:
            self.receive(self.LONG)

    def run(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def settle(self):
        """Until two frames have been drawn."""
        self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(() => r(1))))")

    def wait(self, expression, seconds=LONG):
        end = time.monotonic() + seconds
        while not self.run(expression):
            if time.monotonic() > end:
                raise TimeoutError(expression)
            time.sleep(0.05)

    def key(self, key, **more):
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, **more)
        self.settle()

    def key_until(self, expression, key, **more):
        """Press a key until the expression is true: the browser may ignore a press while it scrolls."""
        end = time.monotonic() + self.LONG
        while not self.run(expression):
            if time.monotonic() > end:
                raise TimeoutError(expression)
            self.key(key, **more)

    def mouse(self, kind, x, y):
        button = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **button)

    def click(self, x, y):
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y)
        self.settle()

    def theme(self, name, forced=False):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": name},
                                                          {"name": "forced-colors", "value": "active" if forced else "none"}])

    def size(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale,
                  mobile=False)
        self.settle()

    def shot(self, path, whole=False):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pixels(self, x, y, width, height):
        """What the window shows there: rows of (red, green, blue)."""
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        rows = read_png(base64.b64decode(self.call("Page.captureScreenshot", clip=clip)["data"]))
        assert [len(row) for row in rows] == [width] * height
        return rows

    def allow_clipboard(self):
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)
        self.browser_call("Browser.grantPermissions", browserContextId=self.context,
                          permissions=["clipboardReadWrite", "clipboardSanitizedWrite"])

    def clipboard(self):
        """The text that was copied."""
        return self.run("navigator.clipboard.readText()")

    def browser_call(self, method, **params):
        session, self.session = self.session, None
        try:
            return self.call(method, **params)
        finally:
            self.session = session

    def count_cpu(self):
        """Before the page is opened: cpu() is to work."""
        self.call("Performance.enable", timeDomain="threadTicks")

    def cpu(self):
        """The processor time of the page's thread so far, in milliseconds: script, style and layout; all."""
        times = {m["name"]: m["value"] * 1000 for m in self.call("Performance.getMetrics")["metrics"]}
        names = ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration")
        return sum(times[name] for name in names), times["TaskDuration"]


def read_png(data):
    """The rows of an 8-bit image: RGB or RGBA, as Chromium writes it, or with a palette."""
    at, parts = 8, {}
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        parts[kind] = parts.get(kind, b"") + data[at + 8:at + 8 + n]
        at += 12 + n
    width, height, depth, color = struct.unpack(">IIBB", parts[b"IHDR"][:10])
    size = {2: 3, 6: 4, 3: 1}[color]
    palette = parts.get(b"PLTE", b"")
    of = (lambda pixel: tuple(palette[3 * pixel[0]:3 * pixel[0] + 3])) if color == 3 else lambda pixel: tuple(pixel[:3])
    assert depth == 8
    flat, before, rows = zlib.decompress(parts[b"IDAT"]), bytes(width * size), []
    for y in range(height):
        start = y * (width * size + 1)
        before = unfilter(flat[start], bytearray(flat[start + 1:start + 1 + width * size]), before, size)
        rows.append([of(before[x:x + size]) for x in range(0, len(before), size)])
    return rows


def unfilter(kind, row, above, size):
    for x in range(len(row)):
        left = row[x - size] if x >= size else 0
        corner = above[x - size] if x >= size else 0
        if kind == 1:
            row[x] = (row[x] + left) & 255
        elif kind == 2:
            row[x] = (row[x] + above[x]) & 255
        elif kind == 3:
            row[x] = (row[x] + (left + above[x]) // 2) & 255
        elif kind == 4:
            guess = left + above[x] - corner
            near = min((abs(guess - left), 0, left), (abs(guess - above[x]), 1, above[x]), (abs(guess - corner), 2, corner))
            row[x] = (row[x] + near[2]) & 255
    return bytes(row)


def lend(path):
    """Until this process is ended or Chromium is."""
    chromium = Chromium(1400, 1000)
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(path + ".new")
    listening.listen()
    os.rename(path + ".new", path)  # which exists once it answers
    borrower, pending = None, b""
    try:
        while True:
            ready = select.select([chromium.back, borrower or listening], [], [])[0]
            if listening in ready:
                borrower = listening.accept()[0]
            if borrower in ready:
                data = borrower.recv(1 << 20)
                if not data:
                    borrower.close()
                    borrower = None
                while data:
                    data = data[os.write(chromium.to, data):]
            if chromium.back in ready:
                data = os.read(chromium.back, 1 << 20)
                if not data:
                    return
                # whole messages: what comes after somebody has left is nobody's
                *whole, pending = (pending + data).split(b"\0")
                if borrower and whole:
                    try:
                        borrower.sendall(b"".join(message + b"\0" for message in whole))
                    except OSError:
                        pass  # it has left, as the next recv() says
    finally:
        chromium.close()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    lend(sys.argv[1])
