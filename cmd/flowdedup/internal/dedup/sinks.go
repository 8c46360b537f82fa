package dedup

import (
	"errors"
	"fmt"

	"github.com/flowdedup/flowdedup/capture"
)

// Output is what packets end up in: whole after Commit, gone after Abort.
type Output interface {
	Commit() error
	Abort() error
}

// sink is one output with its writer.
type sink struct {
	out    Output
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
	rotate := cfg.Rotate
	rotate.Merged = inputs > 1 && !cfg.Input.NoMerge
	rotate.Output.Workers = cfg.Workers
	for _, o := range []struct {
		name   string
		invert bool
	}{{cfg.Output, false}, {cfg.Duplicates, true}} {
		if o.name == "" {
			continue
		}
		out, writer, err := OpenOutput(o.name, rotate, cfg.Input.Warn)
		if err != nil {
			return nil, errors.Join(err, s.abort())
		}
		s.open = append(s.open, sink{out: out, writer: writer, invert: o.invert})
	}
	return s, nil
}

// OpenOutput opens one output, a *capture.Rotation if there is a reason to rotate, and
// what writes to it. warn is told what does not fit into the format that the name asks for.
func OpenOutput(name string, rotate capture.RotateOptions, warn func(error)) (Output, capture.Writer, error) {
	if rotate.Size > 0 || rotate.Every > 0 {
		r, err := capture.NewRotation(name, rotate)
		return r, r, err
	}
	out, err := capture.Create(name, rotate.Output)
	if err != nil {
		return nil, nil, err
	}
	return out, capture.NewFormatWriter(out, capture.WriterOptions{
		Merged: rotate.Merged, Format: capture.FormatOf(name),
		Warn: func(err error) { warn(fmt.Errorf("%s: %w", name, err)) },
	}), nil
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

// files returns how many files the outputs that rotate have written, or nil if none
// rotates.
func (s *sinks) files() *uint64 {
	var n *uint64
	for i := range s.open {
		if r, ok := s.open[i].out.(*capture.Rotation); ok {
			if n == nil {
				n = new(uint64)
			}
			*n += r.Stats().Files
		}
	}
	return n
}

// skipped returns how many blocks no output could carry over.
func (s *sinks) skipped() uint64 {
	var n uint64
	for i := range s.open {
		n = max(n, s.open[i].writer.Skipped())
	}
	return n
}
