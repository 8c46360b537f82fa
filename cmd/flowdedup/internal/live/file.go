package live

import (
	"errors"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/dedup"
)

// fileRetry is how long a full disk is left alone before another file is begun.
const fileRetry = 5 * time.Second

// file is a capture file, or one after another, as a destination.
type file struct {
	writer   capture.Writer
	out      dedup.Output
	rotation *capture.Rotation // out, where it rotates
	tried    time.Time         // when a new file was begun after a failure
}

func createFile(name string, rotate capture.RotateOptions, warn func(error)) (*file, error) {
	out, writer, err := dedup.OpenOutput(name, rotate, warn)
	if err != nil {
		return nil, err
	}
	rotation, _ := out.(*capture.Rotation)
	return &file{writer: writer, out: out, rotation: rotation}, nil
}

// Write writes the packets that are not in drop. A rotation gets every batch, whether
// it can write it or not, and the time.
func (f *file) Write(b *capture.Batch, drop []uint64) error {
	err := f.writer.Write(b, drop)
	if f.rotation == nil {
		return err
	}
	now := time.Now()
	err = f.rotation.Tick(now.Add(-grace)) // what Write returns as well
	if err != nil && now.Sub(f.tried) > fileRetry {
		f.tried = now
		f.rotation.Retry()
	}
	return err
}

func (f *file) commit() error {
	if err := f.writer.Close(); err != nil {
		return errors.Join(err, f.abort())
	}
	return f.out.Commit()
}

func (f *file) abort() error { return f.out.Abort() }

func (f *file) count() uint64 {
	if f.rotation == nil {
		return 0
	}
	return f.rotation.Stats().Files
}
