#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Guess: python-ipfix writes the times of flows as RFC 7011 says, whatever the unit: in messages of flowStartSeconds,
#        Milliseconds, Microseconds and Nanoseconds every collector finds the same time.
# Is:    micro- and nanoseconds are 70 years off. RFC 7011 (sections 6.1.9 and 6.1.10) has them in the format of NTP,
#        whose seconds begin with 1900. python-ipfix counts from 1970, so flows of 2023 are of 1953 to others,
#        and those of others are of 2093 to it. It reads what it wrote itself.
# Why:   records of one flow from two exporters do not meet, and a test in which the library reads its own
#        messages passes.
set -euo pipefail
version=0.9.7-3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get download -q python3-ipfix=$version >/dev/null 2>&1 || { echo "python3-ipfix $version cannot be had"; exit 2; }
for package in *.deb; do dpkg -x "$package" .; done
seen=$(PYTHONPATH=usr/lib/python3/dist-packages python3 - <<'PY'
import datetime
import ipfix.ie, ipfix.message, ipfix.template
ipfix.ie.use_iana_default()
start = datetime.datetime(2023, 11, 14, 22, 13, 20, 500000)
since1970 = 1700000000
def written(name):
    m = ipfix.message.MessageBuffer()
    m.begin_export(1)
    m.add_template(ipfix.template.from_ielist(256, ipfix.ie.spec_list([name])))
    m.export_ensure_set(256)
    m.export_namedict({name: start})
    return m.to_bytes()
for name, unit in ('flowStartMilliseconds', 'ms'), ('flowStartMicroseconds', 'us'), ('flowStartNanoseconds', 'ns'):
    message = written(name)
    raw = int.from_bytes(message[-8:], 'big')
    # The start of 1900 is 2,208,988,800 s before that of 1970.
    seconds = raw / 1000 if unit == 'ms' else raw / 2**32 - 2208988800
    again = ipfix.message.MessageBuffer()
    again.from_bytes(message)
    print(unit, int((seconds - since1970 - 0.5) / 86400), 'days,', next(again.namedict_iterator())[name] == start, end='; ')
PY
)
echo "python-ipfix $version, unit, how far off by RFC 7011, and whether it reads itself: $seen"
[ "$seen" = 'ms 0 days, True; us -25567 days, True; ns -25567 days, True; ' ]
