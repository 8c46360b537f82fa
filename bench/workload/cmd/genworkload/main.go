// SPDX-License-Identifier: Apache-2.0

// Command genworkload writes a synthetic capture and its truth:
//
//	genworkload -packets 10000000 -o FILE.pcap -truth FILE.json -copies FILE.csv
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/flowdedup/flowdedup/bench/workload"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "genworkload:", err)
		if errors.Is(err, errUsage) || errors.Is(err, workload.ErrConfig) {
			os.Exit(2)
		}
		os.Exit(1)
	}
}

var errUsage = errors.New("wrong usage")

// options are the flags as given.
type options struct {
	config workload.Config
	output string
	truth  string
	copies string
}

func parse(args []string) (options, error) {
	o := options{config: workload.Default()}
	c := &o.config
	flags := flag.NewFlagSet("genworkload", flag.ContinueOnError)
	flags.Int64Var(&c.Packets, "packets", c.Packets, "packets to write, copies included")
	flags.StringVar(&o.output, "o", "", "capture to write, - for standard output")
	flags.StringVar(&o.truth, "truth", "", "write the content of the capture to this JSON file")
	flags.StringVar(&o.copies, "copies", "", "write the list of copies, with their originals, to this CSV file")
	flags.Uint64Var(&c.Seed, "seed", c.Seed, "seed; the same seed and flags give the same bytes")
	flags.Float64Var(&c.Duplicates, "dups", c.Duplicates, "share of the packets that are copies")
	flags.Float64Var(&c.Repeats, "repeats", c.Repeats, "share that repeats a frame seconds later")
	flags.DurationVar(&c.Window, "window", c.Window, "copies follow within 0.9 of this")
	flags.Float64Var(&c.IPv6, "ipv6", c.IPv6, "share of the flows that are IPv6")
	flags.Float64Var(&c.Zipf, "zipf", c.Zipf, "exponent of the flows' popularity")
	flags.IntVar(&c.Flows, "flows", c.Flows, "different flows to choose from")
	size := flags.String("size", "imix", "frame size in bytes, 60 to 1514, or imix, or bimodal")
	hours := flags.Float64("hours", c.Duration.Hours(), "hours from first to last packet")
	format := flags.String("format", "pcap", "pcap or pcapng")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, fmt.Errorf("%w: %w", errUsage, err)
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%w: unexpected argument %q", errUsage, flags.Arg(0))
	}
	if o.output == "" {
		return o, fmt.Errorf("%w: -o is missing", errUsage)
	}
	c.Duration = time.Duration(*hours * float64(time.Hour))
	return o, errors.Join(setSize(c, *size), setFormat(c, *format))
}

func setSize(c *workload.Config, text string) error {
	switch text {
	case "imix":
		c.Size = workload.IMIX
		return nil
	case "bimodal":
		c.Size = workload.Bimodal
		return nil
	}
	size, err := strconv.Atoi(text)
	if err != nil || size <= 0 {
		return fmt.Errorf("%w: -size %s is neither a number nor imix nor bimodal", errUsage, text)
	}
	c.Size = size
	return nil
}

func setFormat(c *workload.Config, text string) error {
	switch text {
	case "pcap":
		c.Format = workload.Pcap
	case "pcapng":
		c.Format = workload.PcapNG
	default:
		return fmt.Errorf("%w: -format %s is neither pcap nor pcapng", errUsage, text)
	}
	return nil
}

func run(args []string) error {
	o, err := parse(args)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := o.config.Validate(); err != nil {
		return err
	}
	begin := time.Now()
	truth, err := writeCapture(o)
	if err != nil {
		return err
	}
	seconds := time.Since(begin).Seconds()
	fmt.Fprintf(os.Stderr, "%d packets, %d copies, %.1f s, %.2f million packets/s\n",
		truth.Packets, truth.Duplicates, seconds, float64(truth.Packets)/seconds/1e6)
	if o.truth == "" {
		return nil
	}
	text, err := json.MarshalIndent(truth, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.truth, append(text, '\n'), 0o644)
}

// writeCapture writes the capture and the list of copies.
func writeCapture(o options) (workload.Truth, error) {
	if o.copies == "" {
		return writePackets(o)
	}
	list, err := os.Create(o.copies)
	if err != nil {
		return workload.Truth{}, err
	}
	o.config.Copies = list
	truth, err := writePackets(o)
	return truth, errors.Join(err, list.Close())
}

func writePackets(o options) (workload.Truth, error) {
	if o.output == "-" {
		return workload.Generate(os.Stdout, o.config)
	}
	file, err := os.Create(o.output)
	if err != nil {
		return workload.Truth{}, err
	}
	truth, err := workload.Generate(file, o.config)
	return truth, errors.Join(err, file.Close())
}
