package input

import (
	"context"
	"errors"
	"slices"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/bpf"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// Options says how inputs are put together.
type Options struct {
	// NoMerge reads several inputs one after another instead of in time order.
	NoMerge bool
	// ChunkSize is about how many bytes of an input make a batch; 0 for
	// pcapfile.DefaultChunkSize, or pcapfile.MergeChunkSize of several.
	ChunkSize int
	// Filter says which packets are wanted; others are left out as if they were
	// not there.
	Filter bpf.Filter
	// Warn is told about damage that did not end an input, and about link
	// types that the filter has no meaning on. It may be called from another goroutine,
	// but not once Close has returned.
	Warn func(error)
	// Progress is told, after each batch, how many bytes of the inputs were
	// read, how many there are (0 if unknown) and the packets so far, those not
	// wanted included. It may be nil.
	Progress func(done, total int64, packets uint64)
	// Wrap puts another source around each one that was opened; nil for none.
	Wrap func(capture.Source) capture.Source
}

// ErrRepeatedStdin is returned when "-" is named more than once.
var ErrRepeatedStdin = errors.New("standard input can be read only once")

// Open opens every named input; "-" is standard input. Inputs that cannot be
// opened are left out and kept for Failed; the error is not nil only when
// none is left, or when ctx is done before a pipe says what it holds.
func Open(ctx context.Context, names []string, opt Options) (*Stream, error) {
	if repeated(names, "-") {
		return nil, ErrRepeatedStdin
	}
	warnings := &warnings{emit: opt.Warn}
	ready := make(chan opened, 1)
	go func() {
		ready <- openAll(names, pcapfile.Options{Warn: warnings.warn, ChunkSize: opt.chunkSize(len(names))})
	}()
	var o opened
	select {
	case o = <-ready:
	case <-ctx.Done():
		// What waits for a pipe may wait for long; it ends with the process.
		warnings.end()
		return nil, ctx.Err()
	}
	if len(o.sources) == 0 {
		return nil, errors.Join(o.failed...)
	}
	if opt.Wrap != nil {
		for i, src := range o.sources {
			o.sources[i] = opt.Wrap(src)
		}
	}
	s := newStream(join(o.sources, opt), newFilter(opt.Filter, warnings.note))
	s.failed, s.warnings, s.progress = o.failed, warnings, opt.Progress
	return s, nil
}

// repeated tells whether a name is there more than once.
func repeated(names []string, name string) bool {
	i := slices.Index(names, name)
	return i >= 0 && slices.Contains(names[i+1:], name)
}

// opened are the inputs that could be opened, and why others could not.
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

// maxOpen is how many inputs stay open until they are read. Of more than that, files are
// opened when their turn comes, so that neither descriptors nor memory grow with the
// number of files of a rotated capture; they must not be renamed meanwhile.
const maxOpen = 16

// chunkSize returns how much is read at once of each of so many inputs.
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
