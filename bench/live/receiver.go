// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// receiver is a line to measure, which captures from the interface right until SIGINT. It
// runs in an empty folder.
type receiver struct {
	name   string
	line   string
	spread bool                              // on all processors, else on one that the sender does not use
	driver bool                              // receives only frames from the driver, which excludes the sender xdp
	count  func(text string) (counts, error) // reads the counts from its output
}

// counts are a receiver's reported counts.
type counts struct {
	captured, dropped uint64
	copies            uint64 // if found
	found             bool
}

var (
	plain     = pattern(`(?s)(?P<captured>\d+) packets.* (?P<dropped>\d+) dropped`)
	tcpdump   = pattern(`(?s)(?P<captured>\d+) packets? captured.*\n(?P<dropped>\d+) packets? dropped by kernel`)
	dumpcap   = pattern(`Packets received/dropped on interface .*: (?P<captured>\d+)/(?P<dropped>\d+) `)
	gopackets = pattern(`(?P<dropped>\d+) dropped\n(?P<captured>\d+) packets, (?P<copies>\d+) copies`)
)

var receivers = []receiver{
	{name: "baseline-ring", line: "baseline-ring right", count: plain},
	{name: "baseline-dedup", line: "baseline-live right", count: plain},
	{name: "dedup", line: "flowdedup live -i right --workers 1 --json", count: summary},
	{name: "dedup-two", line: "flowdedup live -i right --workers 2 --json", spread: true, count: summary},
	{name: "distinct", line: "flowdedup live -i right --workers 1 --of src,dst,flow --reports rows.jsonl --json", count: summary},
	{name: "distinct-two", line: "flowdedup live -i right --workers 2 --of src,dst,flow --reports rows.jsonl --json",
		spread: true, count: summary},
	{name: "write", line: "flowdedup live -i right --workers 1 -w clean.pcapng --json", count: summary},
	{name: "keep-first", line: "flowdedup live -i right --workers 1 --keep first -w clean.pcapng --json", count: summary},
	{name: "forward", line: "flowdedup live -i right --workers 1 --forward out --json", count: summary},
	{name: "baseline-forward", line: "baseline-ring right out", count: plain},
	{name: "dedup-xdp", driver: true, line: "flowdedup live -i right --capture xdp --workers 1 --json", count: summary},
	{name: "distinct-xdp", driver: true, line: "flowdedup live -i right --capture xdp --workers 1 --of src,dst,flow --reports rows.jsonl --json", count: summary},
	{name: "write-xdp", driver: true, line: "flowdedup live -i right --capture xdp --workers 1 -w clean.pcapng --json", count: summary},
	{name: "tcpdump", line: "tcpdump -i right -w /dev/null", count: tcpdump},
	{name: "tcpdump-large", line: "tcpdump -i right -B 65536 -w /dev/null", count: tcpdump},
	{name: "dumpcap", line: "dumpcap -q -i right -w all.pcapng", count: dumpcap},
	{name: "dumpcap-large", line: "dumpcap -q -i right -P -B 64 -w all.pcap", count: dumpcap},
	{name: "gopacket", line: "gopackets -i dedup right", count: gopackets},
}

// tool is the program of the receiver.
func (r *receiver) tool() string { return strings.Fields(r.line)[0] }

// available returns the receivers that can run. It names the others on standard error.
func (b *bench) available() []receiver {
	var there []receiver
	for _, r := range receivers {
		if slices.Contains(b.skip, r.name) {
			b.note("left out by -skip: %s", r.line)
		} else if _, err := exec.LookPath(r.tool()); err != nil {
			b.note("no %s, left out: %s", r.tool(), r.line)
		} else {
			there = append(there, r)
		}
	}
	return there
}

// summary reads the counts of flowdedup's summary, which comes first.
func summary(text string) (counts, error) {
	var s struct {
		PacketsIn  uint64 `json:"packets_in"`
		Duplicates uint64 `json:"duplicates"`
		Interfaces []struct {
			Dropped uint64 `json:"dropped"`
		} `json:"interfaces"`
	}
	if err := json.NewDecoder(strings.NewReader(text)).Decode(&s); err != nil {
		return counts{}, fmt.Errorf("%w: no summary in %q", err, text)
	}
	c := counts{captured: s.PacketsIn, copies: s.Duplicates, found: true}
	for _, i := range s.Interfaces {
		c.dropped += i.Dropped
	}
	return c, nil
}

// pattern reads counts from the named groups of a pattern.
func pattern(expression string) func(string) (counts, error) {
	form := regexp.MustCompile(expression)
	return func(text string) (counts, error) {
		match := form.FindStringSubmatch(text)
		if match == nil {
			return counts{}, fmt.Errorf("no counts in %q", text)
		}
		var c counts
		for name, n := range map[string]*uint64{"captured": &c.captured, "dropped": &c.dropped, "copies": &c.copies} {
			if i := form.SubexpIndex(name); i > 0 {
				var err error
				if *n, err = strconv.ParseUint(match[i], 10, 64); err != nil {
					return counts{}, err
				}
			}
		}
		c.found = form.SubexpIndex("copies") > 0
		return c, nil
	}
}
