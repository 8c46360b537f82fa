package monitor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/dustin/go-humanize/english"

	"github.com/flowdedup/flowdedup/capture/ring"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/live"
)

// ringsOf is what each ring received and lost.
func ringsOf(s *live.Status) panel {
	p := panel{
		Columns: []column{{Name: "capture", Left: true}, {Name: "received"}, {Name: "dropped"}, {Name: "freezes"}, {Name: "", Left: true}},
		Least:   1,
	}
	for i := range s.Rings {
		r := &s.Rings[i]
		name := r.Interface
		if slices.ContainsFunc(s.Rings, func(other ring.Stats) bool { return other.Interface == name && other.Ring != r.Ring }) {
			name += "/" + strconv.Itoa(r.Ring)
		}
		p.Rows = append(p.Rows, row(name, number(r.Received), alarm(r.Dropped, bad), alarm(r.Freezes, bad), oddities(r)))
	}
	return p
}

// oddities names what the wire did not have, and outages, the present one first.
func oddities(r *ring.Stats) cell {
	c := cell{Mood: faint, Text: noted(
		note{r.Outages, english.PluralWord(int(r.Outages), "outage", "")}, note{r.Merged, "merged by the host"},
		note{r.Cut, "cut"}, note{r.NoChecksum, "without checksum"})}
	if r.Out {
		c = cell{Mood: bad, Text: strings.TrimSuffix("down or away, "+c.Text, ", ")}
	}
	return c
}

// note is a count of something that mostly does not happen.
type note struct {
	count uint64
	what  string
}

// noted lists what happened.
func noted(notes ...note) string {
	var out []string
	for _, n := range notes {
		if n.count > 0 {
			out = append(out, count(n.count)+" "+n.what)
		}
	}
	return strings.Join(out, ", ")
}

// distinctOf has a row for each key, with the families side by side.
func distinctOf(s *live.Status) panel {
	if len(s.Distinct) == 0 {
		return panel{}
	}
	title, span, bounds := "distinct", "", ""
	if start := s.Distinct[0].WindowStart; !start.IsZero() {
		title += " since " + clock(start, s.Now)
	}
	if d := s.Distinct[0].Span; d > 0 {
		span, bounds = "past "+spell(d), "95 %"
	}
	p := panel{Columns: []column{{Name: title, Left: true}, {Name: "IPv4"}, {Name: "IPv6"}, {Name: "all"}, {Name: span}, {Name: bounds, Left: true}}, Least: 1}
	rows := map[string]int{}
	for i := range s.Distinct {
		d := &s.Distinct[i]
		at, ok := rows[d.Of]
		if !ok {
			at = len(p.Rows)
			rows[d.Of] = at
			p.Rows = append(p.Rows, row(d.Of, make([]cell, 5)...))
		}
		enter(p.Rows[at], d)
	}
	return p
}

// enter fills the cells of a key's row that a family has.
func enter(cells []cell, d *live.Distinct) {
	switch d.Family {
	case "ipv4":
		cells[1] = number(d.Window)
	case "ipv6":
		cells[2] = number(d.Window)
	default:
		cells[3] = number(d.Window)
		if d.Span > 0 {
			cells[4] = number(d.Sliding)
			if d.Low != d.High {
				cells[5] = cell{Text: fmt.Sprintf("%s to %s", count(d.Low), count(d.High)), Mood: faint}
			}
		}
	}
}

// outputsOf is where packets go, and the file that remembers the run.
func outputsOf(s *live.Status) panel {
	p := panel{Columns: []column{{Name: "output", Left: true}, {Name: "packets"}, {Name: "bytes"}, {Name: "", Left: true}}, Least: 1}
	for i := range s.Outputs {
		o := &s.Outputs[i]
		state := losing(cell{Text: noted(note{o.Files, english.PluralWord(int(o.Files), "file", "")})},
			noted(note{o.Lost, "lost"}), o.Failed)
		p.Rows = append(p.Rows, row(o.Name, number(o.Packets), words(humanize.IBytes(o.Bytes)), state))
	}
	if f := s.Forward; f != nil {
		lost := noted(note{f.Lost, "lost"}, note{f.Refused, "refused"}, note{f.TooLong, "too long"}, note{f.Cut, "cut"})
		if lost != "" {
			lost = "not sent: " + lost
		}
		state := losing(cell{Text: "forwarded"}, lost, f.Failed)
		p.Rows = append(p.Rows, row(f.Interface, number(f.Sent), words(humanize.IBytes(f.Bytes)), state))
	}
	if f := s.State; f != nil {
		p.Rows = append(p.Rows, row(f.Name, words(""), words(humanize.IBytes(uint64(max(0, f.Bytes)))), saved(f, s)))
	}
	return p
}

// losing puts into the cell of an output what did not get there, and why nothing does now.
func losing(state cell, lost, failed string) cell {
	if lost != "" {
		state = cell{Text: lost, Mood: warn}
	}
	if failed != "" {
		state = cell{Text: strings.TrimPrefix(lost+", failed: "+clean(failed), ", "), Mood: bad}
	}
	return state
}

// saved tells how old the state on disk is.
func saved(f *live.State, s *live.Status) cell {
	state := cell{Text: "state, not saved yet"}
	if !f.Saved.IsZero() {
		state.Text = "state, saved " + age(f.Saved, s.Now).String() + " ago"
	}
	if f.Failed != "" {
		state = cell{Text: state.Text + ", then failed: " + clean(f.Failed), Mood: bad}
	}
	return state
}
