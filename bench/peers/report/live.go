// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

const liveHeading = "\n### Live\n"

// senderTitles are the headings of the tables.
var senderTitles = map[string]string{
	"xdp":      "As fast as the kernel takes frames",
	"pair":     "As fast as XDP sends through a pair of interfaces",
	"sendmmsg": "A million frames a second, through a packet socket",
}

// live returns the part about receivers of live traffic, or "" if none was measured.
func (r *runs) live() string {
	// Package afpacket has benchmarks of the same names.
	elsewhere := func(b *benchmark) bool { return b.pkg != "bench/live" }
	all, forwards := slices.DeleteFunc(r.named("Live"), elsewhere), slices.DeleteFunc(r.named("Forward"), elsewhere)
	rates := slices.DeleteFunc(r.named("Rate"), elsewhere)
	if len(all) == 0 {
		return ""
	}
	var p strings.Builder
	fmt.Fprintf(&p, "%s\nReceivers of frames of 60 bytes that come over a pair of interfaces, all of them in turn in each round; "+
		"medians of %s, and for `lost` the maximum too. One in ten frames repeats another. The sender has one processor for "+
		"itself, and the receiver the last one, or all where `processors` says so. `lost` is the share of the sent frames that "+
		"the receiver did not get, `dropped` its count of the kernel's drops, `copies` the share of the repeats that it found. "+
		"CPU seconds are the receiver's own, user and system, from the start of its capture to its end, and `later` the seconds of only the second half of the frames, when all flows have been seen and memory has grown; the kernel's work to deliver a packet runs on the sender's "+
		"processor. The peak has the receiver's ring in it; less than 9 MiB, which the sender takes, does not show. `baseline-live` and `baseline-ring` are [baselines](README.md#baselines).\n", liveHeading, rounds(all))
	for _, sender := range valuesOf(all, "sender") {
		p.WriteString(senderTable(sender, with(all, "sender", sender)))
	}
	p.WriteString(rateTable(rates))
	p.WriteString(forwardTable(forwards))
	return p.String()
}

// rounds says how many results there are of each benchmark.
func rounds(all []*benchmark) string {
	least, most := math.MaxInt, 0
	for _, b := range all {
		n := len(b.values["sent"])
		least, most = min(least, n), max(most, n)
	}
	if least == most {
		return fmt.Sprint(most)
	}
	return fmt.Sprintf("%d to %d", least, most)
}

// senderTable returns the results of all receivers with one sender.
func senderTable(sender string, all []*benchmark) string {
	t := table{head: []string{"command", "processors", "sent million/s", "sent", "lost %", "most lost %", "dropped", "CPU s",
		"million/CPU s", "later million/CPU s", "peak MiB", "copies %"}}
	for _, b := range all {
		lost := b.ratios("captured", "sent", func(captured, sent float64) float64 { return 100 * (1 - captured/sent) })
		copies := "-"
		if found := b.ratios("copies", "repeats", func(found, all float64) float64 { return 100 * found / all }); len(found) > 0 {
			copies = digits(middle(found))
		}
		rate, _ := b.median("sent/s")
		taken, _ := b.median("packets/cpu-s")
		later, _ := b.median("later-packets/cpu-s")
		t.rows = append(t.rows, []string{b.command(), b.config("processors"), digits(rate / 1e6), b.metric("sent", whole),
			digits(middle(lost)), digits(slices.Max(lost)), b.metric("dropped", whole), b.metric("cpu-s", digits),
			digits(taken / 1e6), digits(later / 1e6), b.metric("peak-MiB", digits), copies})
	}
	return fmt.Sprintf("\n#### %s\n\n%s", senderTitles[sender], t.markdown())
}

// rateTable returns the results of the captures at each rate.
func rateTable(all []*benchmark) string {
	if len(all) == 0 {
		return ""
	}
	t := table{head: []string{"asked million/s", "command", "sent million/s", "lost %", "most lost %", "dropped", "CPU ns a packet", "kernel ns a packet"}}
	perPacket := func(seconds, packets float64) float64 { return seconds / packets * 1e9 }
	for _, b := range all {
		rate, _ := strconv.ParseFloat(b.get("rate"), 64)
		asked, kernel := digits(rate/1e6), "-"
		if rate == 0 {
			asked, kernel = "most", digits(middle(b.ratios("sender-cpu-s", "sent", perPacket)))
		}
		lost := b.ratios("captured", "sent", func(captured, sent float64) float64 { return 100 * (1 - captured/sent) })
		sent, _ := b.median("sent/s")
		t.rows = append(t.rows, []string{asked, b.command(), digits(sent / 1e6), digits(middle(lost)), digits(slices.Max(lost)),
			b.metric("dropped", whole), digits(middle(b.ratios("cpu-s", "sent", perPacket))), kernel})
	}
	return fmt.Sprintf("\n#### By AF_PACKET and by AF_XDP, at several rates\n\nXDP sends the frames through the pair of interfaces; medians. "+
		"The kernel takes them up to the receiver's ring on the sender's processor: at the highest rate (`most`) this is all that "+
		"processor does, and its cost of a packet is in the last column. The CPU of the receiver is its own, user and system.\n\n%s", t.markdown())
}

// forwardTable returns the delays at each load.
func forwardTable(all []*benchmark) string {
	if len(all) == 0 {
		return ""
	}
	t := table{head: []string{"packets/s", "command", "sent", "forwarded", "median ms", "p99 ms", "greatest ms", "CPU s"}}
	for _, b := range all {
		load, _ := strconv.ParseFloat(b.get("load"), 64)
		t.rows = append(t.rows, []string{whole(load), b.command(), b.metric("sent", whole), b.metric("forwarded", whole),
			b.metric("ms-median", digits), b.metric("ms-p99", digits), b.metric("ms-max", digits), b.metric("cpu-s", digits)})
	}
	return fmt.Sprintf("\n#### Forwarding\n\nThe delay that forwarding adds to a packet, from the kernel's timestamp on its way in to "+
		"the timestamp behind the interface that it is forwarded to; medians. flowdedup does not forward repeats, `baseline-ring` forwards every packet and does nothing else. The sender has one processor, together with the recorder of timestamps, and the forwarder the last one; each packet costs it two microseconds in the kernel, which takes the frame through the pair of interfaces up to the tap at its other end, so that 500,000/s is about all it can do.\n\n%s", t.markdown())
}

// ratios combines two metrics of each run.
func (b *benchmark) ratios(part, of string, combine func(part, of float64) float64) []float64 {
	var all []float64
	for i, x := range b.values[part] {
		all = append(all, combine(x, b.values[of][i]))
	}
	return all
}
