// SPDX-License-Identifier: Apache-2.0

//go:build linux

// Command pipeline times whole programs on whole captures: flowdedup, the tools
// that do a part of its work, and cat and cp, which only move the bytes:
//
//	pipeline [-flows | -paths] [-quick] [-rounds N] [-dir FOLDER] > pipeline.txt
//
// With -flows it times commands on flow records, and collectors of them.
//
// It prints results in the form of go test -bench, from which bench/peers/report makes
// the tables. bench/bench.sh builds the programs. All commands run in turn in every round,
// so they are measured at the same times. Captures are made by genworkload and lie in
// memory: in /dev/shm if it has room, else in the page cache.
//
// flowdedup, genworkload, gopackets and the tools are taken from the PATH; commands
// of tools that are missing are left out, and standard error says so.
package main
