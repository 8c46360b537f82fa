// SPDX-License-Identifier: Apache-2.0

// Package verdict puts the findings of an inspection into one sentence, for inspect and for
// live --learn.
package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/flowdedup/flowdedup/capture/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Of says in one sentence how packets are duplicated.
func Of(r *inspect.Report) string {
	switch {
	case r.Packets == 0:
		return "no packets"
	case r.NoTime == r.Packets:
		return "no packet has a time, so copies cannot be found"
	case !r.Recommendation.Dedup && show.MostUnopened(r.Unopened, r.Packets):
		return fmt.Sprintf("most packets were not opened (%s), so their copies are unknown", show.Unopened(r.Unopened, r.Packets))
	case r.Copies == 0 && r.Equal == 0 && r.Undecidable > 0:
		return fmt.Sprintf("%s of the packets were truncated too short to find copies: do not de-duplicate", show.Percent(float64(r.Undecidable), float64(r.Packets), 1))
	case r.Copies == 0 && r.Equal == 0 && r.ChecksumOnly > 0:
		return fmt.Sprintf("%s, but packets that are known to be equal in part only (%s): do not de-duplicate", noCopies(r), show.Count(r.ChecksumOnly))
	case r.Copies == 0 && r.Equal == 0:
		return noCopies(r) + ": do not de-duplicate"
	case r.Copies == 0:
		return fmt.Sprintf("%s, but packets that were sent again (%s): do not de-duplicate", noCopies(r), show.Count(r.Equal))
	case !r.Recommendation.Dedup:
		return fmt.Sprintf("hardly any copies%s (%s): do not de-duplicate", amongOpened(r), show.Percent(float64(r.Copies), float64(r.Packets), 2))
	}
	text := howOften(r) + ": " + strings.Join(differences(r), ", ")
	if len(r.Matrix) > 0 && float64(r.Matrix[0].Count) > leading*float64(r.Copies) && r.Matrix[0].First != r.Matrix[0].Copy {
		text += fmt.Sprintf("; mostly %s -> %s", show.Printable(r.Matrix[0].First), show.Printable(r.Matrix[0].Copy))
	}
	return text
}

// noCopies says that there are none, and where that is known.
func noCopies(r *inspect.Report) string {
	return "no copies within " + window.Window{Duration: r.Window}.String() + amongOpened(r)
}

// amongOpened says that some packets were not opened.
func amongOpened(r *inspect.Report) string {
	if n := show.Total(r.Unopened); n > 0 {
		return fmt.Sprintf(" among the packets that were opened (%s were not: %s)", show.Count(n), show.Unopened(r.Unopened, r.Packets))
	}
	return ""
}

const (
	// leading is the share of the copies above which something stands for most.
	leading = 0.5
	// notable is the share of the copies below which a difference is not mentioned.
	notable = 0.05
)

// howOften says how many times packets come.
func howOften(r *inspect.Report) string {
	times := float64(r.Packets) / float64(max(r.Packets-r.Copies, 1))
	if near := math.Round(times); near >= 2 && math.Abs(times-near) < notable*near {
		return "nearly every packet " + repeated(int(near))
	}
	return show.Percent(float64(r.Copies), float64(r.Packets), 1) + " of the packets are copies"
}

func repeated(n int) string {
	if n == 2 {
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// differences names how most copies differ.
func differences(r *inspect.Report) []string {
	counts := map[string]uint64{}
	for name, n := range r.Kinds {
		for part := range strings.SplitSeq(name, "+") {
			counts[part] += n
		}
	}
	var all []string
	for _, d := range []struct{ kind, text string }{
		{"interface", "another interface"}, {"lan", lan(r)}, {"nat", "translated addresses"}, {"relay", "sent on by a relay or on a second line"}, {"vlan", "another VLAN"}, {"tunnel", "another tunnel"}, {"outer", "in another packet of the tunnel"}, {"ttl", routers(r)},
		{"mac", "other MAC addresses"}, {"class", "another class of service"}, {"checksum", "checksums left to a network card"},
		{"truncated", "captured in different lengths"}, {"padding", "other padding"}, {"link", "other headers before IP"},
		{"identical", "identical"},
	} {
		n := float64(counts[d.kind])
		if n < notable*float64(r.Copies) || d.kind == "mac" && counts["ttl"] > 0 {
			continue // a router changes addresses, too
		}
		if n < (1-notable)*float64(r.Copies) {
			d.text += " (" + show.Percent(n, float64(r.Copies), 0) + ")"
		}
		all = append(all, d.text)
	}
	return all
}

// routers says how many routers lie between most copies.
func routers(r *inspect.Report) string {
	switch r.Routers {
	case 0:
		return "other times to live"
	case 1:
		return "one router between"
	}
	return fmt.Sprintf("%d routers between", r.Routers)
}

// lan says where copies on another path of a redundant network come from.
func lan(r *inspect.Report) string {
	for _, p := range r.Paths {
		if strings.HasPrefix(p.Path, "LAN") {
			return "another LAN"
		}
	}
	return "another direction of the ring"
}
