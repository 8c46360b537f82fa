// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	// The captures must not stay behind in memory.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pipeline:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("pipeline", flag.ContinueOnError)
	exports := flags.Bool("flows", false, "measure commands on flow records instead")
	quick := flags.Bool("quick", false, "small captures and one round, to see that everything works")
	onPaths := flags.Bool("paths", false, "flowdedup's options beside its plain commands, instead of other tools")
	rounds := flags.Int("rounds", 0, "rounds, instead of 5, or of 1 with -quick")
	largest := flags.Int64("largest", 0, "leave out inputs larger than this number of MB (default: none)")
	dir := flags.String("dir", "", "folder for captures and outputs (default: /dev/shm or the folder for temporary files)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || *rounds < 0 || *largest < 0 {
		return errors.New("wrong usage: an argument, or a negative number")
	}
	p := full
	if *quick {
		p = small
	}
	if *rounds > 0 {
		p.rounds = *rounds
	}
	if *largest > 0 {
		p.inputs = slices.DeleteFunc(slices.Clone(p.inputs), func(bytes int64) bool { return bytes > *largest*megabyte })
	}
	p.exports = *exports
	return measureAll(ctx, p, *onPaths, *dir, out)
}

// measureAll makes the captures, measures the commands, and removes the captures.
func measureAll(ctx context.Context, p plan, onPaths bool, dir string, out io.Writer) (err error) {
	b, err := newBench(ctx, p, dir, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	if err := b.printPlace(ctx); err != nil {
		return err
	}
	if onPaths {
		return b.paths(ctx)
	}
	if p.exports {
		return b.exports(ctx)
	}
	err = b.tools(ctx)
	if ctx.Err() != nil {
		return err
	}
	return errors.Join(err, b.inputs(ctx))
}

// plan says how much is measured.
type plan struct {
	rounds int
	bytes  map[string]int64 // of each kind's capture
	slow   int64            // packets of the captures for slow tools
	inputs []int64          // bytes, for the cost by the size of the input
	flows  int64            // that two exporters report
	// exports says that flow records are measured, and no captures.
	exports bool
}

const (
	megabyte = 1_000_000
	flows    = 1_000_000 // in all captures, so that they differ only in size
)

var (
	full = plan{
		rounds: 5,
		bytes:  map[string]int64{"64-bytes": 820 * megabyte, "busy": 820 * megabyte, "imix": 1000 * megabyte, "bimodal": 1000 * megabyte},
		slow:   200_000,
		inputs: []int64{10 * megabyte, 100 * megabyte, 1000 * megabyte, 10_000 * megabyte},
		flows:  300_000,
	}
	small = plan{
		rounds: 1,
		bytes:  map[string]int64{"64-bytes": 2 * megabyte, "busy": 2 * megabyte, "imix": 2 * megabyte, "bimodal": 2 * megabyte},
		slow:   1000,
		inputs: []int64{megabyte / 10, megabyte},
		flows:  1000,
	}
)

// kind is a kind of traffic.
type kind struct {
	name   string
	title  string
	size   string   // for genworkload
	record int64    // mean bytes of a packet in the file
	hourly int64    // packets
	jobs   []string // jobs that are measured on it
	sized  bool     // is measured in several sizes too
}

// Captures of the full plan last two and a half hours, so that hourly counts have hours.
// Then hardly any two packets lie within a millisecond, and tools that search their
// window have nothing to search: busy shows the cost of the search.
var kinds = []kind{
	{name: "64-bytes", title: "Frames of 64 bytes", size: "64", record: 82, hourly: 4_000_000, jobs: jobs, sized: true},
	{name: "busy", title: "Frames of 64 bytes, a million in a second", size: "64", record: 82, hourly: 3600e6, jobs: jobs[:2]},
	{name: "imix", title: "Frames of the Internet: seven short ones to four of 590 bytes and a full one", size: "imix", record: 378,
		hourly: 1_000_000, jobs: jobs[:2]},
	{name: "bimodal", title: "Short and full frames, 800 bytes on average", size: "bimodal", record: 816, hourly: 500_000,
		jobs: jobs, sized: true},
}

// capture is a file to measure on.
type capture struct {
	kind
	file    string
	packets int64
}

// of returns a capture of about the given size in bytes.
func (k kind) of(bytes int64) capture {
	return capture{k, fmt.Sprintf("%s-%d.pcap", k.name, bytes), max(1, bytes/k.record)}
}

// first returns a shorter capture of the same traffic.
func (c capture) first(packets int64) capture {
	return capture{c.kind, fmt.Sprintf("%s-slow.pcap", c.name), min(packets, c.packets)}
}
