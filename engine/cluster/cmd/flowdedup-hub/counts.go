// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/engine/cluster/counts"
	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

func countsCommand() *cobra.Command {
	var last time.Duration
	var sensor string
	c := &cobra.Command{
		Use:   "counts FILE",
		Short: "Save the united distinct counts of all sites as one file",
		Long: `counts unites the sites' counts of each window, and saves the result as a file
for flowdedup distinct --merge. It reads the state folder, whether the hub runs
or not:

    flowdedup-hub counts --last 24h day.counts
    flowdedup distinct --merge --json day.counts`,
		Args: oneArg("file"),
		RunE: func(c *cobra.Command, args []string) error { return saveCounts(c, args[0], sensor, last) },
	}
	c.Flags().DurationVar(&last, "last", 0, "only windows of the last `time`, such as 24h (default all)")
	c.Flags().StringVar(&sensor, "sensor", "hub", "`name` of the sensor in the file")
	return c
}

// saveCounts unites the windows of the last time, or all for 0, in a file.
func saveCounts(c *cobra.Command, name, sensor string, last time.Duration) error {
	folder, _, err := hub.OpenFolder(state(c))
	if err != nil {
		return err
	}
	after := time.Time{}
	if last > 0 {
		after = time.Now().Add(-last)
	}
	paths, err := counts.Files(folder.CountsFolder(), after)
	if err != nil {
		return err
	}
	if outfile.IsStdout(name) {
		return usageError{errors.New("want a file: flowdedup distinct --merge reads it in several places")}
	}
	out, err := outfile.Create(c.Context(), name, outfile.Options{Plain: true})
	if err != nil {
		return err
	}
	buf := bufio.NewWriterSize(out, 256<<10)
	n, err := counts.Save(c.Context(), buf, sensor, paths)
	if err = errors.Join(err, buf.Flush()); err != nil {
		return errors.Join(err, out.Discard())
	}
	if err := out.Commit(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.OutOrStdout(), "%s: %d windows of %d files\n", name, n, len(paths))
	return err
}

// tableWindows is how many windows a table has: a screen of them.
const tableWindows = 4

// writeCounts writes the unions of the latest windows.
func writeCounts(t io.Writer, c *hub.CountsStatus) {
	if c == nil {
		return
	}
	if c.Files == 0 {
		fmt.Fprintln(t, "\ndistinct counts: no site has sent a window that closed")
		return
	}
	fmt.Fprintln(t, "\nwindow\tof\tfamily\tdistinct\tlow\thigh\tpackets\tsensors\tmissing\t")
	for i := from(c.Rows); i < len(c.Rows); i++ {
		r := &c.Rows[i]
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", windowOf(r), printable(r.Of), printable(r.Family), comma(r.Distinct), comma(r.Low),
			comma(r.High), comma(r.Packets), r.Sensors, dash(missing(r)))
	}
	if c.Pending > 0 {
		fmt.Fprintf(t, "%d windows are being united\n", c.Pending)
	}
	if c.Evicted > 0 {
		fmt.Fprintf(t, "%s files of old windows were removed for new ones: --counts is full\n", comma(c.Evicted))
	}
}

// printable quotes a name from a site's file, unless all its characters print as they are.
func printable(name string) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		return quoted
	}
	return name
}

// from returns where the rows of the latest windows begin.
func from(rows []counts.Row) int {
	windows := 0
	for i := len(rows) - 1; i >= 0; i-- {
		if i == len(rows)-1 || windowOf(&rows[i]) != windowOf(&rows[i+1]) {
			windows++
		}
		if windows > tableWindows {
			return i + 1
		}
	}
	return 0
}

// windowOf names the window of a row.
func windowOf(r *counts.Row) string {
	if r.WindowStart == nil {
		return "no time"
	}
	return r.WindowStart.Format("2006-01-02 15:04:05")
}

// missing lists the sites that lack a window.
func missing(r *counts.Row) string { return strings.Join(r.Missing, " ") }
