#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: IPSet of Python's IPy is a MutableSet, so two of them have a union (|) and a symmetric difference (^) as they
#        have a difference (-) and an intersection (&).
# Is:    | and ^ raise a TypeError, since the set cannot be made of a generator, which MutableSet gives it. The
#        union is +, which sets of Python do not have.
# Why:   code that takes any set works in tests of what is common, or missing, and fails where it unites what
#        two sensors saw.
set -euo pipefail
version=1:1.01-2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q python3-ipy=$version >/dev/null 2>&1 || { echo "python3-ipy $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
seen=$(PYTHONPATH=usr/lib/python3/dist-packages python3 - <<'PY'
from collections.abc import MutableSet
from operator import add, and_, or_, sub, xor
from IPy import IP, IPSet
a, b = IPSet([IP('10.0.0.0/25')]), IPSet([IP('10.0.0.64/26'), IP('10.0.0.128/25')])
print(isinstance(a, MutableSet), end=' ')
for sign, f in ('-', sub), ('&', and_), ('|', or_), ('^', xor), ('+', add):
    try:
        print(sign, *f(a, b), end=' ')
    except TypeError:
        print(sign, 'TypeError', end=' ')
PY
)
echo "IPy $version, is an IPSet a MutableSet, and 10.0.0.0/25 with 10.0.0.64/26 and 10.0.0.128/25: $seen"
[ "$seen" = 'True - 10.0.0.0/26 & 10.0.0.64/26 | TypeError ^ TypeError + 10.0.0.0/24 ' ]
