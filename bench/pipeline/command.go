// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// command is a line for bash to measure. It runs in the folder of the captures. IN is the
// capture; the folder out is empty.
type command struct {
	job   string // its job; the first command of a job is the reference for the others
	name  string
	line  string
	tools []string
	slow  bool // gets a shorter capture
	sized bool // is measured on inputs of several sizes too
}

// jobs are the commands' jobs, in the order of the tables.
var jobs = []string{"read", "dedup", "distinct"}

const fiveTuple = "-e ip.src -e ip.dst -e ipv6.src -e ipv6.dst -e ip.proto -e ipv6.nxt " +
	"-e tcp.srcport -e tcp.dstport -e udp.srcport -e udp.dstport"

// others are the commands of other tools.
var others = []command{
	{job: "read", name: "cat", line: "cat $IN > /dev/null", sized: true},
	{job: "read", name: "cat-copy", line: "cat $IN > out/copy"},
	{job: "read", name: "cp", line: "cp $IN out/copy"},
	{job: "read", name: "tcpdump", line: "tcpdump -r $IN -w /dev/null", tools: []string{"tcpdump"}},
	{job: "dedup", name: "baseline-one", line: "baseline-file 1 $IN", tools: []string{"baseline-file"}},
	{job: "dedup", name: "baseline-all", line: "baseline-file $(nproc) $IN", tools: []string{"baseline-file"}},
	{job: "dedup", name: "baseline-write", line: "baseline-file $(nproc) $IN out/copy", tools: []string{"baseline-file"}},
	{job: "dedup", name: "gopacket", line: "gopackets dedup $IN", tools: []string{"gopackets"}},
	{job: "dedup", name: "editcap-count", line: "editcap -d -F nsecpcap $IN /dev/null", tools: []string{"editcap"}},
	{job: "dedup", name: "editcap-time", line: "editcap -w 0.001 -F nsecpcap $IN /dev/null", tools: []string{"editcap"}, slow: true},
	{job: "distinct", name: "gopacket", line: "gopackets distinct $IN", tools: []string{"gopackets"}},
	{job: "distinct", name: "nfdump", line: "mkdir out/flows && nfpcapd -r $IN -w out/flows && " +
		"for key in srcip dstip srcip,dstip,srcport,dstport,proto; do " +
		"nfdump -R out/flows -A $key -q -o fmt:%sa | wc -l; done", tools: []string{"nfpcapd", "nfdump"}},
	{job: "distinct", name: "tshark-flows", line: "tshark -r $IN -T fields " + fiveTuple + " | sort -u | wc -l",
		tools: []string{"tshark"}, slow: true},
}

// ours returns flowdedup's commands. Commands that take workers appear twice: with one
// worker and with all.
func ours(ctx context.Context) []command {
	tools := []string{"flowdedup"}
	var all []command
	for _, c := range []struct{ job, name, line string }{
		{"dedup", "dedup", "flowdedup dedup $IN"},
		{"dedup", "dedup-write", "flowdedup dedup $IN -w out/clean.pcap"},
		{"distinct", "distinct", "flowdedup distinct --of src,dst,flow $IN"},
	} {
		one := command{job: c.job, name: c.name, line: c.line, tools: tools, sized: c.name != "dedup-write"}
		if !takesWorkers(ctx, c.job) {
			all = append(all, one)
			continue
		}
		many := one
		one.name, one.line = c.name+"-one", c.line+" --workers 1"
		many.name, many.line = c.name+"-all", c.line+" --workers 0"
		all = append(all, one, many)
	}
	return all
}

func takesWorkers(ctx context.Context, subcommand string) bool {
	help, err := exec.CommandContext(ctx, "flowdedup", subcommand, "--help").Output()
	return err == nil && strings.Contains(string(help), "--workers ")
}

// available returns the commands whose tools are installed, in the order of jobs, ours
// first.
func available(ctx context.Context, exports bool) []command {
	all := flowCommands
	if !exports {
		all = append(ours(ctx), others...)
		slices.SortStableFunc(all, func(a, b command) int { return slices.Index(jobs, a.job) - slices.Index(jobs, b.job) })
	}
	return installed(all)
}

// installed returns the commands whose tools are installed, and names the others on standard error.
func installed(all []command) (there []command) {
	for _, c := range all {
		if missing := c.missing(); missing != "" {
			fmt.Fprintf(os.Stderr, "pipeline: no %s, left out: %s\n", missing, c.line)
			continue
		}
		there = append(there, c)
	}
	return there
}

func (c command) missing() string {
	for _, tool := range c.tools {
		if _, err := exec.LookPath(tool); err != nil {
			return tool
		}
	}
	return ""
}
