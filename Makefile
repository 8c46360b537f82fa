# SPDX-License-Identifier: Apache-2.0
# Everything here needs only a Go toolchain, unless "make help" says more.
.PHONY: help build man browser install test race lint fuzz bench papers findings dist ci

help:
	@echo 'Targets, with their variables:'
	@echo '  build     flowdedup and flowdedup-hub, static programs, and their man pages'
	@echo '  install   what build made, below PREFIX (/usr/local), with DESTDIR before it;'
	@echo '            programs, man pages, completions, units, examples: needs no Go'
	@echo '  man       the man pages alone, in man/'
	@echo '  browser   the page for browsers, as static files, in browser/'
	@echo '  test      all tests, or one SUITE:'
	@echo '            $(call suites,bench/test.sh)'
	@echo '  race      the same tests under the race detector'
	@echo '  lint      gofmt, vet, staticcheck'
	@echo '  fuzz      each fuzz target for FUZZTIME (10m)'
	@echo '  bench     times of kernels and engines, or one SUITE:'
	@echo '            $(call suites,bench/bench.sh)'
	@echo '  papers    the tables of the papers; ARGS holds flags. SUITE: check, full'
	@echo '  findings  what other software does that nobody would guess: findings/README.md'
	@echo '  dist      the files of a release, in dist/; PLATFORM (all), SUITE: test'
	@echo '  ci        what every change must pass, on a clean clone'
	@echo 'bench/test.sh and bench/bench.sh say what each SUITE does and needs. Other files that'
	@echo 'are made anew:'
	@echo '  go run ./bench/spdx                       the line of the licence in sources'
	@echo '  go run ./cmd/flowdedup/doc/fields > cmd/flowdedup/doc/fields.md'
	@echo '  bench/router/rebuild.sh testdata/pcaps    captures; Linux, as root'
	@echo '  cmd/flowdedup/doc/pages/pictures.sh       pictures of terminals; Linux, as root'
	@echo '  go -C bench/papers run ./hubmodel -svg ../../cmd/flowdedup/doc/hub-model.svg'

# The suites that a script has, from its list of them.
suites = $(shell sed -nE 's/^\# ([a-z-]+): .*/\1/p' $(1) | paste -sd, | sed 's/,/, /g')

# Static files, which need no C library. The hub is a module of its own: it has a NATS server
# inside. Pages and metrics are plain HTTP, so HTTP/2, which needs TLS, is left out.
GOBUILD = CGO_ENABLED=0 go build -trimpath -tags nethttpomithttp2 -ldflags='-s -w'
build: man
	$(GOBUILD) -o flowdedup ./cmd/flowdedup
	cd engine/cluster && $(GOBUILD) -o ../../flowdedup-hub ./cmd/flowdedup-hub

# From the commands' help and the manual.
man:
	go run ./cmd/flowdedup/doc/man man
	go -C engine/cluster run ./cmd/flowdedup-hub man > man/flowdedup-hub.1

# The program for browsers, as static files: Go alone makes it.
browser:
	go run ./cmd/flowdedup/contrib/browser browser

# What the packages have, by a script that needs no Go: root may have none.
PREFIX ?= /usr/local
install:
	DESTDIR='$(DESTDIR)' PREFIX='$(PREFIX)' cmd/flowdedup/contrib/install.sh

SUITE ?=
test:
	bench/test.sh $(SUITE)

race:
	go test -race -timeout 2h ./...

lint:
	test -z "$$(gofmt -l .)"
	bench/lint.sh

FUZZTIME ?= 10m
fuzz:
	bench/fuzz.sh $(FUZZTIME)

# Raw results are in bench/out, from which SUITE=results makes bench/RESULTS.md.
bench:
	bench/bench.sh $(SUITE)

# Tables and figures of the papers: minutes. check fails where RESULTS.md or a chart has other
# numbers than the code makes. full makes Tables 1 to 9 of p1 at their printed sizes: hours of
# one core, with 3.5 GB of memory for each. Finished rows stay in full.json, so it may be
# interrupted, and goes on from there the next time.
papers.args = $(ARGS) -markdown RESULTS.md -charts charts
papers.args.check = -check RESULTS.md -charts charts
papers.args.full = -full -only p1.table1,p1.table2,p1.table3,p1.table4,p1.table5,p1.table6,p1.table7,p1.table8,p1.table9 -counts full.json -markdown RESULTS-full.md
papers:
	go -C bench/papers run . $(papers.args$(addprefix .,$(SUITE)))

# Scripts outside CI, which install packages of fixed versions in temporary folders.
findings:
	for script in findings/*.sh; do bash $$script || exit; done

# A release of the last commit: programs, packages, images, recipes, checksums, in dist/
# (PLATFORM=linux/amd64 for one, and no recipes). The test makes it twice, compares, and
# installs and runs it in clean roots, of which systemd boots one: Linux, as root, with
# debootstrap, rpm, systemd-nspawn, qemu-user.
PLATFORM ?=
RELEASE = go -C cmd/flowdedup/contrib/dist run . -root $(CURDIR) -only '$(PLATFORM)'
dist:
	$(RELEASE) -out $(CURDIR)/dist
ifeq ($(SUITE),test)
	rm -rf dist-again && $(RELEASE) -out $(CURDIR)/dist-again >/dev/null
	DIST_FOLDER=$(CURDIR)/dist DIST_AGAIN=$(CURDIR)/dist-again go -C cmd/flowdedup/contrib/dist test -count=1 -timeout 1h -v .
	rm -rf dist-again
endif

ci:
	bash .ci/run
