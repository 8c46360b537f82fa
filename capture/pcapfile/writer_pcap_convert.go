package pcapfile

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/internal/encoding"
)

// pcapConverter writes inputs of which some are pcapng as one pcap file: see
// NewWriter.
type pcapConverter struct {
	pcapWriter
	last int64        // time of the last packet that had one, or NoTime
	from []pcapOrigin // by interface
	loss formatLoss
}

// pcapOrigin is what is known of an interface that packets may come from.
type pcapOrigin struct {
	used  bool // packets of it were written
	finer bool // nanoseconds do not hold each of its times
}

// formatLoss counts what a pcap file has no place for.
type formatLoss struct {
	options    uint64 // of packets and interfaces
	blocks     uint64
	interfaces uint64 // that packets came from, beyond one
	times      uint64 // that are finer, or beyond what 32 bits of seconds hold
}

func newPcapConverter(out *outBuffer, b *capture.Batch) *pcapConverter {
	w := &pcapConverter{pcapWriter: pcapWriter{copyWriter: copyWriter{out: out}}, last: capture.NoTime}
	for i := range b.Interfaces {
		w.nanosecond = w.nanosecond || !inTicks(1e6, &b.Interfaces[i])
	}
	return w
}

// inTicks reports whether so many units a second hold each time of an interface.
func inTicks(units uint64, it *capture.Interface) bool { return units%it.TicksPerSecond == 0 }

// encode writes the file header before the first batch and all kept frames.
func (w *pcapConverter) encode(b *capture.Batch, drop []uint64, p Part) error {
	if !w.began {
		w.fileHeader(b.Interfaces)
		w.out.mark(0)
		w.began = true
	}
	for i := p.FromBlock; i < p.ToBlock; i++ {
		w.block(b, i)
	}
	for pos := p.From; pos < p.To; {
		lo, hi := capture.NextRun(drop, pos, p.To)
		for i := lo; i < hi; i++ {
			if err := w.frame(b, i); err != nil {
				return err
			}
		}
		pos = hi
	}
	return nil
}

// frame writes one frame.
func (w *pcapConverter) frame(b *capture.Batch, i int) error {
	f := b.Frames[i]
	it := &b.Interfaces[f.Interface]
	if first := &b.Interfaces[0]; it.LinkType != first.LinkType || it.FCSLen != first.FCSLen {
		return fmt.Errorf("packet of an interface of link type %v, described behind the first packet, in a pcap file of link type %v (a name that ends with .pcapng makes a file of both): %w",
			it.LinkType, first.LinkType, capture.ErrNotSupported)
	}
	w.count(b, &f, it)
	if f.Time == capture.NoTime {
		f.Time = max(w.last, 0)
	} else {
		w.last = f.Time
	}
	w.record(&f)
	w.out.write(b.Data(i))
	w.out.mark(1)
	return nil
}

// count notes what is lost of a frame.
func (w *pcapConverter) count(b *capture.Batch, f *capture.Frame, it *capture.Interface) {
	for n := len(w.from); n < len(b.Interfaces); n++ {
		w.from = append(w.from, pcapOrigin{finer: !inTicks(1e9, &b.Interfaces[n])})
	}
	from := &w.from[f.Interface]
	if !from.used {
		from.used = true
		w.loss.interfaces++
	}
	if f.Time != capture.NoTime && (from.finer || !w.nanosecond && f.Time%1000 != 0 || uint64(f.Time) >= 1e9<<32) {
		w.loss.times++
	}
	s := &b.Sections[it.Section]
	if s.Format == capture.FormatPcapNG && f.RecordLen > encoding.MinPacketLen+pad4(f.CapLen) {
		record := b.Buf[f.Record : f.Record+f.RecordLen-4]
		w.options(record[encoding.PacketHead+pad4(f.CapLen):], s.BigEndian)
	}
}

// options counts those of a list, less those that a pcap file tells in its own way.
func (w *pcapConverter) options(list []byte, big bool, told ...uint16) {
	for o := (encoding.Options{Rest: list, Big: big}); ; {
		code, _, err := o.Next()
		if err != nil || code == encoding.OptEnd {
			return
		}
		if !slices.Contains(told, code) {
			w.loss.options++
		}
	}
}

// block notes what is lost of block i. Headers are what a file header stands for.
func (w *pcapConverter) block(b *capture.Batch, i int) {
	k := &b.Blocks[i]
	switch k.Type {
	case capture.BlockFileHeader, capture.BlockSectionHeader:
	case capture.BlockInterface:
		block := b.Block(i)
		list := block[encoding.MinInterfaceLen-4 : len(block)-4]
		w.options(list, b.Sections[k.Section].BigEndian, encoding.OptTSResol, encoding.OptTSOffset, encoding.OptFCSLen)
	default:
		w.loss.blocks++
	}
}

// lost returns what was lost, as an error that wraps ErrFormatLoss, or nil.
func (w *pcapConverter) lost() error {
	var words []string
	add := func(n uint64, what string) {
		if n > 1 {
			what += "s"
		}
		if n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(w.loss.options, "option")
	add(w.loss.blocks, "block")
	add(w.loss.times, "exact time")
	if n := w.loss.interfaces; n > 1 {
		words = append(words, fmt.Sprintf("which of %d interfaces a packet came from", n))
	}
	if len(words) == 0 {
		return nil
	}
	return fmt.Errorf("pcap %w %s: a name that ends with .pcapng keeps them", ErrFormatLoss, strings.Join(words, ", "))
}
