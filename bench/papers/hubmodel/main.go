// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/bench/papers/chart"
)

// usual is the hub that the manual shows.
func usual() config {
	return config{
		Seed: 18, Sites: 40, Slices: 64, Nodes: 8, Cores: 4, Bits: 10e9, PacketBytes: 800, Repeated: 0.1, Hot: 100_000,
		Window: time.Millisecond, Message: 9 * time.Microsecond, Digest: 90 * time.Nanosecond, Length: 10 * time.Second,
		Lost: 4 * time.Second, Moved: 2 * time.Second,
	}
}

func main() {
	c := usual()
	flag.Uint64Var(&c.Seed, "seed", c.Seed, "of all chance")
	flag.DurationVar(&c.Message, "message", c.Message, "cost of a message at a node")
	flag.DurationVar(&c.Digest, "digest", c.Digest, "cost of a digest at a node")
	svg := flag.String("svg", "", "draw the delay of verdicts to `FILE`")
	flag.Parse()
	if err := run(c, os.Stdout, *svg); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run simulates with and without local filters, and reports.
func run(c config, out io.Writer, svg string) error {
	fmt.Fprintf(out, "%d sites of %.0f Gbit/s, packets of %.0f bytes; %d slices on %d nodes of %d cores; a node is lost after %v, its slices are back %v later\n\n",
		c.Sites, c.Bits/1e9, c.PacketBytes, c.Slices, c.Nodes, c.Cores, c.Lost, c.Moved)
	fmt.Fprintln(out, "| | local filters | none |\n|---|---|---|")
	var both []result
	for _, local := range []bool{true, false} {
		c.LocalFilter = local
		both = append(both, simulate(&c))
	}
	for _, row := range rows {
		fmt.Fprintf(out, "| %s | %s | %s |\n", row.name, row.of(&both[0]), row.of(&both[1]))
	}
	if svg == "" {
		return nil
	}
	file, err := os.Create(svg)
	if err != nil {
		return err
	}
	if err := figure(&both[0]).SVG(file); err != nil {
		return err
	}
	return file.Close()
}

// rows are the lines of the table.
var rows = []struct {
	name string
	of   func(r *result) string
}{
	{"digests a second, all sites", func(r *result) string { return fmt.Sprintf("%.1f million", r.Digests/usual().Length.Seconds()/1e6) }},
	{"fairness of slices (Jain)", func(r *result) string { return fmt.Sprintf("%.4f", fairness(r.SliceLoad)) }},
	{"most loaded slice, of the mean", func(r *result) string {
		return fmt.Sprintf("%.2f", slices.Max(r.SliceLoad)*float64(len(r.SliceLoad))/sum(r.SliceLoad))
	}},
	{"cores busy of a node: mean, most", func(r *result) string {
		return fmt.Sprintf("%.2f, %.2f", sum(r.NodeBusy[0])/float64(len(r.NodeBusy[0])), slices.Max(r.NodeBusy[0]))
	}},
	{"the same, a node fewer", func(r *result) string {
		left := r.NodeBusy[1][1:]
		return fmt.Sprintf("%.2f, %.2f", sum(left)/float64(len(left)), slices.Max(left))
	}},
	{"delay of verdicts: half, 99 %, 99.9 %", func(r *result) string { return millis(r.Delay[0]) }},
	{"the same, a node fewer", func(r *result) string { return millis(r.Delay[1]) }},
	{"unchecked in all", func(r *result) string { return fmt.Sprintf("%.2f %%", 100*r.Unchecked/r.Digests) }},
	{"longest time with unchecked packets", func(r *result) string { return r.Worst.String() }},
	{"a site's link: up, down", func(r *result) string { return fmt.Sprintf("%.0f, %.1f Mbit/s", r.UpBits/1e6, r.DownBits/1e6) }},
	{"a node's link: in", func(r *result) string { return fmt.Sprintf("%.2f Gbit/s", r.NodeBits/1e9) }},
}

func millis(q []float64) string { return fmt.Sprintf("%.1f, %.1f, %.1f ms", q[0], q[1], q[2]) }

func sum(values []float64) (s float64) {
	for _, v := range values {
		s += v
	}
	return s
}

// figure draws delays and unchecked packets over time.
func figure(r *result) chart.Chart {
	half, most, unchecked := chart.Line{Name: "half of the verdicts, ms"}, chart.Line{Name: "99 % of them, ms"}, chart.Line{Name: "unchecked, %", Dashed: true}
	for _, s := range r.Series {
		for _, l := range []struct {
			line *chart.Line
			y    float64
		}{{&half, s.P50}, {&most, s.P99}, {&unchecked, 100 * s.Unchecked}} {
			l.line.X, l.line.Y = append(l.line.X, s.At), append(l.line.Y, l.y)
		}
	}
	return chart.Chart{
		Title: "A node of 8 is lost at 4 s, and its slices are back at 6 s", X: "seconds", Y: "milliseconds, percent",
		Lines: []chart.Line{half, most, unchecked},
	}
}
