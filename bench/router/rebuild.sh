#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the captures of testdata/pcaps again, with their truth files.
#
#   rebuild.sh DIRECTORY [NAME...]
#
# Needs root on Linux: it creates network namespaces, links and tunnels that
# are named after its process, have no route out of the machine, and are removed
# at the end, also after a failure or an interrupt. Missing programs are
# installed with apt-get. Takes about two minutes; captures.py lists the names.
set -euo pipefail

[[ $# -ge 1 ]] || { echo "usage: $0 DIRECTORY [NAME...]" >&2; exit 2; }
[[ $(uname -s) == Linux && $EUID == 0 ]] || { echo "$0: needs root on Linux" >&2; exit 2; }

# program -> Debian package
declare -A packages=(
  [ip]=iproute2 [tc]=iproute2 [ethtool]=ethtool [sysctl]=procps [taskset]=util-linux [python3]=python3
  [tcpdump]=tcpdump [dumpcap]=wireshark-common [reordercap]=wireshark-common
  [curl]=curl [openssl]=openssl [dnsmasq]=dnsmasq-base [dig]=bind9-dnsutils [ping]=iputils-ping
)
missing=()
for program in "${!packages[@]}"; do
  command -v "$program" >/dev/null || missing+=("${packages[$program]}")
done
if [[ ${#missing[@]} -gt 0 ]]; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}"
fi

# captures.py cleans up after itself, also when it is interrupted.
export PYTHONDONTWRITEBYTECODE=1
exec python3 "$(dirname "$0")/captures.py" "$@"
