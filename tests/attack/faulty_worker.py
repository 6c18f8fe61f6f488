"""A worker that does wrong on purpose, so that the watchdog itself can be tested."""

from __future__ import annotations

import json
import os
import sys
import time

from tests.attack import alarm


def main() -> None:
    alarm.ready()
    for line in sys.stdin:
        _, first, last = line.split()
        print(json.dumps({"warm": "it is"}), flush=True)
        for number in range(int(first), int(last)):
            if number == 3:
                os.abort()
            if number == 5:
                with alarm.at_most(float(os.environ["SEQTRUTH_ATTACK_HANG"])):
                    while True:
                        pass
            if number == 8:
                time.sleep(3600)  # waits for what never comes, without using the processor
            said = "traceback" if number == 7 else "read"
            print(json.dumps({"number": number, "said": said, "ms": 1.0}), flush=True)


if __name__ == "__main__":
    main()
