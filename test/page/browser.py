#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""browser.py PAGE PICTURE WIDTH [light|dark] [screen|print]: a picture of the whole page, as Chromium shows it.

As a module: Browser opens pages in Chromium without a window and asks them, by the DevTools protocol over a pipe.
"""
import base64
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path


class Browser:
    """One page at a time. `complaints` has what its console said, and each address but its own that it asked for."""

    def __init__(self, program="chromium"):
        self.profile = tempfile.TemporaryDirectory()
        ours, theirs = os.pipe(), os.pipe()  # from the browser, to it

        def wire():  # as descriptors 3 and 4, from copies that are above both
            source, sink = os.dup2(theirs[0], 20), os.dup2(ours[1], 21)
            os.dup2(source, 3)
            os.dup2(sink, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--remote-debugging-pipe",
             f"--user-data-dir={self.profile.name}", "about:blank"],
            preexec_fn=wire, close_fds=False, stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(ours[1])
        os.close(theirs[0])
        self.reader, self.writer = os.fdopen(ours[0], "rb"), os.fdopen(theirs[1], "wb", 0)
        self.rest, self.number, self.session = b"", 0, None
        self.loaded, self.address, self.complaints = False, "", []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")

    def close(self):
        self.process.terminate()
        self.process.wait(20)
        self.profile.cleanup()

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.reader.fileno(), 1 << 20)
            if not more:
                sys.exit("browser.py: the browser has ended")
            self.rest += more
        text, self.rest = self.rest.split(b"\0", 1)
        message = json.loads(text)
        method, values = message.get("method", ""), message.get("params", {})
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"):
            self.complaints.append(json.dumps(values)[:400])
        elif method == "Network.requestWillBeSent" and values["request"]["url"] != self.address:
            self.complaints.append("asks for " + values["request"]["url"][:200])
        return message

    def ask(self, method, **values):
        self.number += 1
        message = {"id": self.number, "method": method, "params": values}
        if self.session:
            message["sessionId"] = self.session
        self.writer.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                return answer.get("result", answer)

    def open(self, path, width=1400, scheme="light", media="screen"):
        self.loaded, self.complaints, self.address = False, [], Path(path).resolve().as_uri()
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.ask("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.ask("Page.navigate", url=self.address)
        while not self.loaded:
            self.receive()

    def value(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        return result.get("result", {}).get("value", result.get("exceptionDetails"))

    def press(self, key, code):
        text = {"text": "\r"} if key == "Enter" else {}
        self.ask("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, windowsVirtualKeyCode=code, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, path):
        height = self.value("document.documentElement.scrollHeight")
        width = self.value("document.documentElement.clientWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": min(height, 6000), "scale": 1}
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        Path(path).write_bytes(base64.b64decode(shot["data"]))


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    browser = Browser()
    browser.open(sys.argv[1], int(sys.argv[3]), *sys.argv[4:])
    browser.picture(sys.argv[2])
    browser.close()
