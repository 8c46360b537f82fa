# SPDX-License-Identifier: Apache-2.0
"""Answers many questions by one process, as Python and its modules start slowly.

Each line of standard input is a JSON list: judge or sensor, and the arguments of that
program. Its answer is a line of JSON, as the program prints it.
"""

import json
import sys

import judge
import sensor

PROGRAMS = {"judge": judge.answered, "sensor": sensor.answered}


def main():
    for line in sys.stdin:
        program, *args = json.loads(line)
        print(json.dumps(PROGRAMS[program](args)), flush=True)


if __name__ == "__main__":
    main()
