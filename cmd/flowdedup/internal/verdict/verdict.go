// SPDX-License-Identifier: Apache-2.0

// Package verdict puts the findings of an inspection into one sentence, for inspect and for
// live --learn.
package verdict

import (
	"fmt"
	"math"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/analysis/inspect"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/window"
)

// Of says in one sentence how packets are duplicated.
func Of(r *inspect.Report) string {
	switch r.Conclusion {
	case inspect.NoPackets:
		return "no packets"
	case inspect.CannotTell:
		return cannotTell(r) + besides(r)
	case inspect.Loops:
		return Loop(&r.Loops[0]) + ": no mirror does that, so do not de-duplicate"
	case inspect.NoCopies:
		return none(r) + ": do not de-duplicate"
	}
	text := howOften(r) + ": " + strings.Join(differences(r), ", ")
	if len(r.Matrix) > 0 && float64(r.Matrix[0].Count) > leading*float64(r.Copies) && r.Matrix[0].First != r.Matrix[0].Copy {
		text += fmt.Sprintf("; mostly %s -> %s", show.Printable(r.Matrix[0].First), show.Printable(r.Matrix[0].Copy))
	}
	return text + besides(r)
}

// cannotTell says why copies of most packets would not have been found.
func cannotTell(r *inspect.Report) string {
	var whys []string
	add := func(n uint64, why string) {
		if n > 0 {
			whys = append(whys, show.Percent(float64(n), float64(r.Packets), 1)+" of the packets "+why)
		}
	}
	add(r.NoTime, "have no time")
	if n := show.Total(r.Unopened); n > 0 {
		add(n, "were not opened ("+show.Unopened(r.Unopened, r.Packets)+")")
	}
	add(r.Undecidable, "were truncated too short")
	add(r.ChecksumOnly, "are known to equal others only by a checksum")
	return "cannot tell whether there are copies: " + strings.Join(whys, ", ")
}

// none says that there are no copies, or hardly any, and where that is known.
func none(r *inspect.Report) string {
	switch {
	case r.Copies > 0:
		return fmt.Sprintf("hardly any copies%s (%s)", amongOpened(r), show.Percent(float64(r.Copies), float64(r.Packets), 2))
	case r.Equal > 0:
		return fmt.Sprintf("%s, but packets that were sent again (%s)", noCopies(r), show.Count(r.Equal))
	case r.ChecksumOnly > 0:
		return fmt.Sprintf("%s, but packets that are known to be equal in part only (%s)", noCopies(r), show.Count(r.ChecksumOnly))
	}
	return noCopies(r)
}

// besides mentions the largest loop after other findings.
func besides(r *inspect.Report) string {
	if len(r.Loops) == 0 {
		return ""
	}
	return "; besides, " + Loop(&r.Loops[0])
}

// Loop describes a loop in a few words.
func Loop(l *inspect.Loop) string {
	what := "a loop or a storm: one frame"
	if l.Kind == inspect.RoutingLoop {
		what = "a routing loop: one packet"
	}
	text := fmt.Sprintf("%s up to %s times", what, show.Count(l.Most))
	if l.Different == 1 {
		text = fmt.Sprintf("%s %s times", what, show.Count(l.Most))
	}
	if len(l.Stations) > 0 {
		text += ", stations " + strings.Join(l.Stations, " and ")
	}
	if len(l.Hosts) > 0 {
		text += ", hosts " + strings.Join(l.Hosts, " and ")
	}
	return text
}

// noCopies says that there are none, and where that is known.
func noCopies(r *inspect.Report) string {
	return "no copies within " + window.Window{Duration: r.Window}.String() + amongOpened(r)
}

// amongOpened says that some packets could not be judged.
func amongOpened(r *inspect.Report) string {
	text := ""
	if n := show.Total(r.Unopened); n > 0 {
		text = fmt.Sprintf(" among the packets that were opened (%s were not: %s)", show.Count(n), show.Unopened(r.Unopened, r.Packets))
	}
	if n := r.Undecidable; n > 0 {
		text += fmt.Sprintf(" except %s that were truncated too short", show.Count(n))
	}
	return text
}

const (
	// leading is the share of the copies above which something stands for most.
	leading = 0.5
	// notable is the share of the copies below which a difference is not mentioned.
	notable = 0.05
)

// howOften says how many times packets come.
func howOften(r *inspect.Report) string {
	packets := r.Packets - r.Looped
	times := float64(packets) / float64(max(packets-r.Copies, 1))
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

// lan says where copies on the second path of a redundant network come from.
func lan(r *inspect.Report) string {
	for _, p := range r.Paths {
		if strings.HasPrefix(p.Path, "LAN") {
			return "another LAN"
		}
	}
	return "another direction of the ring"
}
