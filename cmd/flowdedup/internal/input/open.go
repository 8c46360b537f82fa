// SPDX-License-Identifier: Apache-2.0

package input

import (
	"context"
	"errors"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/reassemble"
)

// Options says how inputs are combined.
type Options struct {
	// NoMerge reads inputs one after another instead of in time order.
	NoMerge bool
	// ChunkSize is about how many bytes of an input make a batch; 0 is
	// pcapfile.DefaultChunkSize, or pcapfile.MergeChunkSize for several inputs.
	ChunkSize int
	// Sort brings packets into the order of their times, after inputs were merged; nil leaves
	// their order. It is not for inputs that arrive, nor for NoMerge.
	Sort *pcapfile.SortConfig
	// Network is for inputs that are not files.
	Network Network
	// Filter says which packets are wanted. Others are ignored.
	Filter bpf.Filter
	// Part says which part is wanted of the packets that the filter leaves.
	Part Part
	// Wanted says which packets that the filter and the part leave are wanted. Several goroutines call
	// it at the same time. Nil is all.
	Wanted func(b *capture.Batch, i int) bool
	// Warn gets damage that did not end an input, and link types for which the filter has
	// no meaning. It may be called from any goroutine, but not after Close.
	Warn func(error)
	// Progress gets, after each batch, the bytes read so far, the bytes of all inputs (0
	// if unknown), and the packets so far, wanted or not. It may be nil.
	Progress func(done, total int64, packets uint64)
	// Reassemble puts the fragments of tunnels together: see package reassemble.
	Reassemble bool
	Tunnels    *headers.Tunnels // the UDP ports of tunnels; nil are the usual ports
	// Wrap wraps each source of a file after it was opened; nil is none.
	Wrap func(capture.Source) capture.Source
}

// ErrRepeatedStdin is returned if "-" is named more than once.
var ErrRepeatedStdin = errors.New("standard input can be read only once")

// Open opens every named input: a file, "-" for standard input, or an address of package
// pcapoverip. If some inputs arrive over a network, or are waited for in the same way, the
// stream ends when all inputs have ended, or ctx is done. Open skips inputs that cannot be
// opened, and Failed returns their errors. It fails only if no input is left, or if ctx is done
// while it waits for the first bytes of a pipe.
func Open(ctx context.Context, names []string, opt Options) (*Stream, error) {
	if repeated(names, "-") {
		return nil, ErrRepeatedStdin
	}
	warnings := &warnings{emit: opt.Warn}
	if opt.arrives(names) {
		return openNetwork(ctx, names, &opt, warnings)
	}
	var o opened
	if err := outfile.Until(ctx, func() error {
		o = openAll(names, pcapfile.Options{Warn: warnings.warn, Note: warnings.note, ChunkSize: opt.chunkSize(len(names))})
		return nil
	}); err != nil {
		warnings.end()
		return nil, err
	}
	if len(o.sources) == 0 {
		return nil, errors.Join(o.failed...)
	}
	if opt.Wrap != nil {
		for i, src := range o.sources {
			o.sources[i] = opt.Wrap(src)
		}
	}
	src := join(o.sources, opt)
	var sorter *pcapfile.Sorter
	if opt.Sort != nil {
		sorter = pcapfile.Sort(src, *opt.Sort)
		src = sorter
	}
	s := opt.stream(src, false, warnings)
	s.failed, s.sorter = o.failed, sorter
	return s, nil
}

// stream returns the wanted packets of a source. live says that they come in their own time.
func (o *Options) stream(src capture.Source, live bool, w *warnings) *Stream {
	var filter *Matcher
	if !o.Filter.All() {
		filter = NewMatcher(MatcherConfig{Flag: filterFlag, Condition: Condition{Filter: o.Filter}, Warn: w.note})
	}
	var whole *reassemble.Source
	if o.Reassemble {
		src, whole = reassemble.NewSource(src, live, o.Tunnels)
	}
	s := newStream(src, filter)
	s.whole = whole
	s.warnings, s.progress, s.wanted, s.part.Part = w, o.Progress, o.Wanted, o.Part
	return s
}

// repeated reports whether a name occurs more than once.
func repeated(names []string, name string) bool {
	i := slices.Index(names, name)
	return i >= 0 && slices.Contains(names[i+1:], name)
}

// opened are the sources of the inputs, and the errors of inputs that could not be opened.
type opened struct {
	sources []capture.Source
	failed  []error
}

func openAll(names []string, opt pcapfile.Options) opened {
	var o opened
	for _, name := range names {
		src, err := pcapfile.Open(name, opt)
		if err != nil {
			o.failed = append(o.failed, err)
			continue
		}
		if len(names) > maxOpen {
			pcapfile.Park(src)
		}
		o.sources = append(o.sources, src)
	}
	return o
}

// maxOpen is how many inputs are open at the same time. With more inputs, files are
// opened when their turn comes, so that descriptors and memory do not grow with the
// number of files of a rotated capture. These files must not be renamed meanwhile.
const maxOpen = 16

// chunkSize returns how many bytes are read at once of each input.
func (o *Options) chunkSize(inputs int) int {
	if o.ChunkSize == 0 && inputs > 1 && !o.NoMerge {
		return pcapfile.MergeChunkSize(inputs)
	}
	return o.ChunkSize
}

func join(sources []capture.Source, opt Options) capture.Source {
	switch {
	case len(sources) == 1:
		return sources[0]
	case opt.NoMerge:
		return pcapfile.Concat(sources)
	}
	return pcapfile.Merge(sources, nil)
}
