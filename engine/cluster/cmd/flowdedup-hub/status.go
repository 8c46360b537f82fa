// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"strings"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

func statusCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show sites, copies between them, clocks and slices",
		Long: `status asks the hubs of the state folder, on the machine of the server:

    flowdedup-hub status
    flowdedup-hub status --json | jq .sites`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			folder, settings, err := hub.OpenFolder(state(c))
			if err != nil {
				return err
			}
			admin, err := hub.Dial(folder, settings, quiet{})
			if err != nil {
				return err
			}
			defer admin.Close()
			st, err := admin.Status()
			if err != nil {
				return err
			}
			if asJSON {
				e := json.NewEncoder(c.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(st)
			}
			return writeStatus(newTables(c.OutOrStdout()), st, time.Now())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object instead of tables")
	return c
}

// writeStatus writes the tables of a status.
func writeStatus(t *tables, st hub.Status, now time.Time) error {
	fmt.Fprintf(t, "filter %s, window %s, %d slices, %d with a hub\n", st.Filter, st.Window, st.Slices, st.Owned)
	if n := len(st.Unowned); n > 0 {
		fmt.Fprintf(t, "warning: %d slices without a hub: packets whose digests belong to them pass unchecked\n", n)
	}
	writeChains(t, st.Chains)
	writeGrowth(t, &st)
	writeTree(t, st.Tree)
	writeTopDown(t, st.TopDown)
	fmt.Fprintln(t)
	writeSites(t, st.Sites, now)
	writeMatrix(t, st)
	writeHubs(t, st, now)
	writeCounts(t, st.Counts)
	return t.Flush()
}

// writeChains writes the state of a filter that is not rows.
func writeChains(t io.Writer, c *hub.ChainStatus) {
	if c == nil {
		return
	}
	fmt.Fprintf(t, "%v; %.2f messages and %.0f bits between slices a digest, fairness %.3f\n", c.Shape, c.Hops, c.HopBits, c.Fairness)
	if c.Lost > 0 {
		fmt.Fprintf(t, "warning: %d slices were lost, a packet is a copy from %d of %d answers on\n", c.Lost, c.Shape.AtLeast, c.Shape.Hashes)
	}
	fmt.Fprintf(t, "predicted: %.2g of new packets are taken for copies, %.2g of copies pass\n", c.FPR, c.FNR)
}

// writeGrowth writes the growth of slices of dynamic size.
func writeGrowth(t io.Writer, st *hub.Status) {
	least, most, bytes := 0, 0, 0
	for _, s := range st.PerSlice {
		if least == 0 || s.Filters < least {
			least = s.Filters
		}
		most, bytes = max(most, s.Filters), bytes+s.MemoryBytes
	}
	if most > 0 {
		fmt.Fprintf(t, "slices have grown to %d to %d filters each, %s of at most %s\n", least, most,
			humanize.IBytes(uint64(bytes)), humanize.IBytes(uint64(st.Chains.Shape.Limit)))
	}
}

func writeSites(t io.Writer, sites []hub.SiteStatus, now time.Time) {
	if len(sites) == 0 {
		fmt.Fprint(t, "no site has sent anything yet; the line for one: flowdedup-hub join-token SITE\n\n")
		return
	}
	fmt.Fprintln(t, "site\tdigests\tper second\tcopies\tper second\tunchecked\tanswers p99\tclock ahead\tof\tlast heard\t")
	for i := range sites {
		s := &sites[i]
		heard := "-"
		if s.Reported != nil {
			heard = now.Sub(*s.Reported).Round(time.Second).String() + " ago"
		}
		fmt.Fprintf(t, "%s\t%s\t\n", strings.Join(siteCells(s), "\t"), heard)
	}
	fmt.Fprintln(t)
}

// siteCells returns the cells of a site in tables: its name, digests and copies, each with their
// rate, unchecked packets, the time of answers, and its clock.
func siteCells(s *hub.SiteStatus) []string {
	offset, p99, unchecked := "-", "-", "-"
	if s.Offset != nil {
		offset = s.Offset.String()
	}
	if s.Reported != nil {
		p99, unchecked = s.AnswerP99.Truncate(time.Microsecond).String(), comma(s.Unchecked)
	}
	return []string{s.Site, comma(s.Digests), perSecond(s.DigestRate), comma(s.Copies), perSecond(s.CopyRate), unchecked, p99, offset, dash(s.OffsetOf)}
}

// writeMatrix writes how many copies each site has sent of packets of each other.
func writeMatrix(t io.Writer, st hub.Status) {
	if len(st.Matrix) == 0 {
		return
	}
	copies := map[[2]string]hub.PairStatus{}
	for _, p := range st.Matrix {
		copies[[2]string{p.First, p.Copy}] = p
	}
	fmt.Fprint(t, "copies at\t")
	for i := range st.Sites {
		fmt.Fprintf(t, "%s\t", st.Sites[i].Site)
	}
	fmt.Fprintln(t)
	for i := range st.Sites {
		fmt.Fprintf(t, "of %s\t", st.Sites[i].Site)
		for j := range st.Sites {
			p, ok := copies[[2]string{st.Sites[i].Site, st.Sites[j].Site}]
			if !ok {
				fmt.Fprint(t, "-\t")
				continue
			}
			fmt.Fprintf(t, "%s (%v)\t", comma(p.Copies), p.Delay.P50)
		}
		fmt.Fprintln(t)
	}
	fmt.Fprint(t, "in brackets: half of the copies came within this time, by corrected clocks\n\n")
}

func writeHubs(t io.Writer, st hub.Status, now time.Time) {
	fmt.Fprintln(t, "hub\tslices\tmemory\tfill\tfalse copies\tevicted too early\tfor\t")
	for _, h := range st.Hubs {
		fill, fpr, evicted := 0.0, 0.0, uint64(0)
		for _, s := range st.PerSlice {
			if s.Hub == h.Hub {
				fill, fpr, evicted = max(fill, s.Fill), max(fpr, s.FPR), evicted+s.EvictedLive
			}
		}
		fmt.Fprintf(t, "%s\t%d\t%s\t%.1f %%\t%.2g\t%s\t%v\t\n", h.Hub, h.Slices, humanize.IBytes(uint64(h.MemoryBytes)),
			100*fill, fpr, comma(evicted), now.Sub(h.Started).Round(time.Second))
	}
	r := st.Refused
	if r.Sum() > 0 {
		fmt.Fprintf(t, "\nrefused requests: %s of another layout, %s not owned, %s too late, %s overloaded, %s bad\n",
			comma(r.WrongEpoch), comma(r.NotOwner), comma(r.Stale), comma(r.Overloaded), comma(r.Bad))
	}
	writeBad(t, st.Sites)
	for _, line := range bans(st.Sites) {
		fmt.Fprintf(t, "\nwarning: %s\n", line)
	}
}

// bans says which sites are or were banned.
func bans(sites []hub.SiteStatus) (lines []string) {
	for i := range sites {
		if s := &sites[i]; s.BannedUntil != nil {
			lines = append(lines, fmt.Sprintf("site %s does far more than sensors do: %s bans, the last until %s", s.Site, comma(s.Bans), s.BannedUntil.UTC().Format(time.DateTime+" UTC")))
		}
	}
	return lines
}

// writeBad lists the sites that send bad requests.
func writeBad(t io.Writer, sites []hub.SiteStatus) {
	for i := range sites {
		if s := &sites[i]; s.Bad > 0 {
			fmt.Fprintf(t, "\nwarning: site %s has sent %s bad requests: flowdedup-hub remove %s, if nobody there knows why\n", s.Site, comma(s.Bad), s.Site)
		}
	}
}

func comma(n uint64) string { return humanize.BigComma(new(big.Int).SetUint64(n)) }

func perSecond(r float64) string { return humanize.CommafWithDigits(r, 0) }

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
