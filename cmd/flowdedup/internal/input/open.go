package input

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/flowdedup/flowdedup/capture"
)

// Options says how inputs are put together.
type Options struct {
	// NoMerge reads several inputs one after another instead of in time order.
	NoMerge bool
	// Warn is told about damage that did not end an input. It may be called
	// from another goroutine.
	Warn func(error)
	// Progress is told, after each batch, how many bytes of the inputs were
	// read, how many there are (0 if unknown) and the packets so far. It may be
	// nil.
	Progress func(done, total int64, packets uint64)
}

// ErrRepeatedStdin is returned when "-" is named more than once.
var ErrRepeatedStdin = errors.New("standard input can be read only once")

// Stream is the one stream that all inputs make together.
type Stream struct {
	src      capture.Source
	failed   []error
	survived *atomic.Bool // damage was warned of
	progress func(done, total int64, packets uint64)
	packets  uint64

	out   chan result
	free  chan *capture.Batch
	done  chan struct{}
	ended chan struct{}
	last  *capture.Batch // given to the handler of Each
}

// Open opens every named input; "-" is standard input. Inputs that cannot be
// opened are left out and kept for Failed; the error is not nil only when
// none is left.
func Open(names []string, opt Options) (*Stream, error) {
	var sources []capture.Source
	var failed []error
	survived := new(atomic.Bool)
	warn := func(err error) {
		survived.Store(true)
		opt.Warn(err)
	}
	stdin := false
	for _, name := range names {
		if name == "-" && stdin {
			closeAll(sources)
			return nil, ErrRepeatedStdin
		}
		stdin = stdin || name == "-"
		src, err := capture.Open(name, capture.Options{Warn: warn})
		if err != nil {
			failed = append(failed, err)
			continue
		}
		sources = append(sources, src)
	}
	if len(sources) == 0 {
		return nil, errors.Join(failed...)
	}
	s := newStream(join(sources, opt))
	s.failed, s.survived, s.progress = failed, survived, opt.Progress
	go s.read()
	return s, nil
}

func join(sources []capture.Source, opt Options) capture.Source {
	switch {
	case len(sources) == 1:
		return sources[0]
	case opt.NoMerge:
		return capture.Concat(sources)
	}
	return capture.Merge(sources, nil)
}

func closeAll(sources []capture.Source) {
	for _, s := range sources {
		// Nothing was read from them, so there is nothing to report.
		_ = s.Close()
	}
}

// Failed returns why inputs could not be opened, one error each.
func (s *Stream) Failed() []error { return s.failed }

// Inputs returns the names of the inputs that were opened.
func (s *Stream) Inputs() []string { return s.src.Inputs() }

// Size returns how many bytes of capture there are, 0 if unknown.
func (s *Stream) Size() int64 { return s.src.Size() }

// Close stops reading and closes the inputs. It does not wait for a read that
// blocks on a silent pipe.
func (s *Stream) Close() error {
	close(s.done)
	select {
	case <-s.ended:
		return s.src.Close()
	default:
		return nil
	}
}

// Damaged reports whether the inputs were damaged, where err is what ended the
// stream.
func (s *Stream) Damaged(err error) bool { return s.survived.Load() || IsDamage(err) }

// IsDamage reports whether err tells of a damaged input.
func IsDamage(err error) bool {
	var in *capture.InputError
	return errors.As(err, &in)
}

// describe gives the error of a stream its place in a sentence.
func describe(err error) error {
	if IsDamage(err) {
		return err
	}
	return fmt.Errorf("read: %w", err)
}
