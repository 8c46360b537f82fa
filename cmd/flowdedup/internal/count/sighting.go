// SPDX-License-Identifier: Apache-2.0

package count

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// First is a first sighting of which only the text that an output has is made.
type First struct {
	*windows.FirstSeen
	packets *Packets
	from    *string // start of the window
}

// AppendText appends the time, the key's name and the key, with tabs between them.
func (f *First) AppendText(text []byte) []byte {
	if t := f.time(); t != capture.NoTime {
		text = f.packets.times.Append(text, t)
	}
	text = append(append(append(text, '\t'), f.packets.counter.cfg.Keys[f.Key].Kind.String()...), '\t')
	return f.appendValue(text)
}

// Sighting returns the form for JSON.
func (f *First) Sighting() *Sighting {
	cfg := f.packets.counter.cfg
	return &Sighting{
		Kind: "sighting", WindowStart: f.from, Of: cfg.Keys[f.Key].Kind.String(), Value: string(f.appendValue(nil)),
		FirstSeen: show.Timestamp(f.time(), cfg.zone()), CommunityID: f.communityID(),
	}
}

func (f *First) time() int64 { return calendar.Usable(f.packets.source.Frames[f.Packet].Time) }

func (f *First) appendValue(text []byte) []byte {
	cfg, k := &f.packets.counter.cfg.Keys[f.Key], &f.packets.keys[f.Key]
	switch f.Series {
	case windows.Addr4:
		return cfg.AppendAddr4(text, k.addr4[f.Number])
	case windows.V4:
		return cfg.Append16(text, k.v4[f.Number])
	case windows.V6:
		return cfg.Append48(text, k.v6[f.Number])
	}
	return cfg.Append16(text, k.mac[f.Number])
}

// communityID returns the Community ID of an element that is a flow, else "".
func (f *First) communityID() string {
	cfg, k := &f.packets.counter.cfg.Keys[f.Key], &f.packets.keys[f.Key]
	switch f.Series {
	case windows.V4:
		return cfg.CommunityID16(k.v4[f.Number])
	case windows.V6:
		return cfg.CommunityID48(k.v6[f.Number])
	}
	return ""
}
