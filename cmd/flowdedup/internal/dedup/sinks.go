package dedup

import (
	"errors"

	"github.com/flowdedup/flowdedup/capture"
)

// sink is one output file with its writer.
type sink struct {
	out    *capture.Output
	writer capture.Writer
	// invert makes it the file of the duplicates.
	invert bool
}

// sinks are all outputs of a run: none, the survivors, the duplicates or both.
type sinks struct {
	open     []sink
	inverted []uint64
}

func openSinks(cfg *Config, inputs int) (*sinks, error) {
	s := &sinks{}
	merged := inputs > 1 && !cfg.Input.NoMerge
	for _, o := range []struct {
		name   string
		invert bool
	}{{cfg.Output, false}, {cfg.Duplicates, true}} {
		if o.name == "" {
			continue
		}
		out, err := capture.Create(o.name, capture.OutputOptions{Workers: cfg.Workers})
		if err != nil {
			return nil, errors.Join(err, s.abort())
		}
		s.open = append(s.open, sink{out: out, writer: capture.NewWriter(out, merged), invert: o.invert})
	}
	return s, nil
}

// write hands a batch and its verdicts to every output.
func (s *sinks) write(b *capture.Batch, drop []uint64) error {
	for i := range s.open {
		k := &s.open[i]
		verdicts := drop
		if k.invert {
			s.inverted = capture.Complement(s.inverted, drop, len(b.Frames))
			verdicts = s.inverted
		}
		if err := k.writer.Write(b, verdicts); err != nil {
			return &outputError{err}
		}
	}
	return nil
}

// commit puts all outputs in their places, or none that is still open.
func (s *sinks) commit() error {
	for i := range s.open {
		if err := s.open[i].writer.Close(); err != nil {
			return errors.Join(&outputError{err}, s.abort())
		}
	}
	for i := range s.open {
		if err := s.open[i].out.Commit(); err != nil {
			return errors.Join(&outputError{err}, s.abort())
		}
	}
	return nil
}

// abort removes what was not committed.
func (s *sinks) abort() error {
	var errs []error
	for i := range s.open {
		errs = append(errs, s.open[i].out.Abort())
	}
	return errors.Join(errs...)
}

// skipped returns how many blocks no output could carry over.
func (s *sinks) skipped() uint64 {
	var n uint64
	for i := range s.open {
		n = max(n, s.open[i].writer.Skipped())
	}
	return n
}
