"""A worker that does wrong on purpose, so that the watchdog itself can be tested."""

from __future__ import annotations

import json
import os
import sys
import time


def main() -> None:
    for line in sys.stdin:
        _, first, last = line.split()
        print(json.dumps({"warm": "it is"}), flush=True)
        for number in range(int(first), int(last)):
            if number == 3:
                os.abort()
            if number == 5:
                until = time.monotonic() + 600
                while time.monotonic() < until:
                    pass
            said = "traceback" if number == 7 else "read"
            print(json.dumps({"number": number, "said": said, "ms": 1.0}), flush=True)


if __name__ == "__main__":
    main()
