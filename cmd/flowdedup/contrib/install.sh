#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what "make build" made below PREFIX, as the packages do: programs, man pages,
# completions, examples, and on Linux the units of systemd. DESTDIR goes before all of it.
set -e
cd "$(dirname "$0")/../../.."
prefix=${PREFIX:-/usr/local}
share=${DESTDIR:-}$prefix/share
contrib=cmd/flowdedup/contrib
for program in flowdedup flowdedup-hub; do
	if [ ! -x "$program" ]; then
		echo "there is no $program here: run make build first, as a user who has Go" >&2
		exit 1
	fi
done

# put installs a file with a mode.
put() {
	mkdir -p "$(dirname "$3")"
	install -m "$1" "$2" "$3"
}

# complete installs what a program says of itself to a shell.
complete() {
	mkdir -p "$(dirname "$3")"
	"./$1" completion "$2" >"$3"
	chmod 644 "$3"
}

for program in flowdedup flowdedup-hub; do
	put 755 "$program" "${DESTDIR:-}$prefix/bin/$program"
	complete "$program" bash "$share/bash-completion/completions/$program"
	complete "$program" zsh "$share/zsh/site-functions/_$program"
	complete "$program" fish "$share/fish/vendor_completions.d/$program.fish"
	put 644 cmd/flowdedup/doc/changes.md "$share/doc/$program/changes.md"
done
for page in man/*.[17]; do
	put 644 "$page" "$share/man/man${page##*.}/${page#man/}"
done
examples=$share/doc/flowdedup/examples
put 644 $contrib/example.conf "$examples/eth0.conf"
put 644 $contrib/example-flows.conf "$examples/flows-edge.conf"
put 644 $contrib/grafana-dashboard.json "$examples/grafana-dashboard.json"
put 644 $contrib/prometheus-alerts.yml "$examples/prometheus-alerts.yml"
hub_examples=$share/doc/flowdedup-hub/examples
put 644 $contrib/hub-example.conf "$hub_examples/flowdedup-hub.conf"
put 644 $contrib/hub-grafana-dashboard.json "$hub_examples/hub-grafana-dashboard.json"
put 644 $contrib/hub-prometheus-alerts.yml "$hub_examples/hub-prometheus-alerts.yml"
if [ "$(uname)" = Linux ]; then
	units=${DESTDIR:-}$prefix/lib/systemd/system
	mkdir -p "$units"
	for unit in flowdedup@.service flowdedup-flows@.service flowdedup-hub.service; do
		sed "s|/usr/local/bin/|$prefix/bin/|" "$contrib/$unit" >"$units/$unit"
		chmod 644 "$units/$unit"
	done
fi
