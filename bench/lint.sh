#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Vets every module of the clone, and checks it by staticcheck, which is a tool of the module
# that makes releases.
set -euo pipefail
cd "$(dirname "$0")/.."
check=$PWD/bench/out/staticcheck
go -C cmd/flowdedup/contrib/dist build -o "$check" honnef.co/go/tools/cmd/staticcheck
git ls-files '*go.mod' | while read -r mod; do
	(
		cd "$(dirname "$mod")"
		go vet ./...
		"$check" ./...
	)
done
