package input

import (
	"context"
	"errors"
	"fmt"
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

// Stream is the one stream that all inputs make together.
type Stream struct {
	src      capture.Source
	failed   []error
	survived *survived
	filter   *filter
	progress func(done, total int64, packets uint64)
	packets  uint64        // that were read
	filtered uint64        // that were not wanted
	ended    chan struct{} // closed when no worker of Each is left
}

// Open opens every named input; "-" is standard input. Inputs that cannot be
// opened are left out and kept for Failed; the error is not nil only when
// none is left, or when ctx is done before a pipe says what it holds.
func Open(ctx context.Context, names []string, opt Options) (*Stream, error) {
	if repeated(names, "-") {
		return nil, ErrRepeatedStdin
	}
	survived := &survived{tell: opt.Warn}
	ready := make(chan opened, 1)
	go func() {
		ready <- openAll(names, pcapfile.Options{Warn: survived.warn, ChunkSize: opt.chunkSize(len(names))})
	}()
	var o opened
	select {
	case o = <-ready:
	case <-ctx.Done():
		// What waits for a pipe may wait for long; it ends with the process.
		survived.end()
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
	s := New(join(o.sources, opt), opt.Progress)
	s.failed, s.survived, s.filter = o.failed, survived, newFilter(opt.Filter, survived.note)
	return s, nil
}

// New makes a stream of a source that is open already, which the stream closes. progress
// is that of Options.
func New(src capture.Source, progress func(done, total int64, packets uint64)) *Stream {
	return &Stream{
		src: src, survived: &survived{}, filter: newFilter(bpf.Filter{}, nil), progress: progress,
		ended: make(chan struct{}),
	}
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

// Failed returns why inputs could not be opened, one error each.
func (s *Stream) Failed() []error { return s.failed }

// Inputs returns the names of the inputs that were opened.
func (s *Stream) Inputs() []string { return s.src.Inputs() }

// Filtered returns how many packets were left out since they were not wanted. It is
// known when Each has returned.
func (s *Stream) Filtered() uint64 { return s.filtered }

// Size returns how many bytes of capture there are, 0 if unknown.
func (s *Stream) Size() int64 { return s.src.Size() }

// Close closes the inputs. It does not wait for a read that blocks on a silent pipe,
// as one may that goes on after Each.
func (s *Stream) Close() error {
	s.survived.end()
	select {
	case <-s.ended:
		return s.src.Close()
	default:
		return nil
	}
}

// Damaged reports whether the inputs were damaged, where err is what ended the
// stream.
func (s *Stream) Damaged(err error) bool { return s.survived.any() || IsDamage(err) }

// IsDamage reports whether err tells of a damaged input.
func IsDamage(err error) bool {
	var in *capture.InputError
	return errors.As(err, &in)
}

// IsUnread reports whether err tells of an input that was not read to its end, since it
// is damaged or reading failed.
func IsUnread(err error) bool {
	var failed *capture.ReadError
	return IsDamage(err) || errors.As(err, &failed)
}

// describe gives the error of a stream its place in a sentence.
func describe(err error) error {
	if IsUnread(err) {
		return err
	}
	return fmt.Errorf("read: %w", err)
}
