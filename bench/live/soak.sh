#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds flowdedup and bench/live/soak, and runs soak as root with the arguments.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
go build -o "$bin/" ./bench/live/soak ./cmd/flowdedup
PATH="$bin:$PATH" soak "$@"
