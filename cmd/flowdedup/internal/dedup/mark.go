package dedup

import (
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/mark"
)

// NewMarker returns what marks copies in the output, or nil where Choice does not say so.
// inputs are the names by capture.Section.Input.
func (d *Detector) NewMarker(inputs []string) *mark.Marker {
	if !d.cfg.Choice.Mark {
		return nil
	}
	return mark.New(mark.Config{Decoder: d.NewDecoder(), Inputs: inputs})
}

// Mark returns what is to be written of a batch. Without a marker that is b less the
// packets in drop, else all of b, whose copies then have comments. Calls come as those of
// Verdicts, for which drop is the result.
func (p *Packets) Mark(m *mark.Marker, b *capture.Batch, drop []uint64) (marked *capture.Batch, left []uint64) {
	if m == nil {
		return b, drop
	}
	return m.Mark(b, p.packets.Digests(), drop, nil, nil), nil
}
