// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"context"
	"encoding/csv"
	"strconv"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
)

// removedList is the file of --removed, nil without the flag.
type removedList struct {
	file *outfile.File
	csv  *csv.Writer // its error lasts
}

// openRemoved opens the file, nil if it has no name.
func openRemoved(ctx context.Context, name string) (*removedList, error) {
	if name == "" {
		return nil, nil
	}
	file, err := outfile.Create(ctx, name, outfile.Options{})
	if err != nil {
		return nil, err
	}
	l := &removedList{file, csv.NewWriter(sink.NewInterruptibleWriter(ctx, name, file))}
	_ = l.csv.Write([]string{"packet", "time", "original", "delay_ns", "point", "original_point", "differences"})
	return l, nil
}

// add writes a row; end returns its error.
func (l *removedList) add(r *traits.Removal) {
	row := [7]string{0: strconv.FormatUint(r.Packet, 10), 4: string(r.Point), 5: string(r.OriginalPoint), 6: string(r.Differences)}
	if r.Time != capture.NoTime {
		row[1] = *show.Timestamp(r.Time, time.UTC)
	}
	if r.Original > 0 {
		row[2] = strconv.FormatUint(r.Original, 10)
	}
	if r.Delayed {
		row[3] = strconv.FormatInt(r.Delay, 10)
	}
	_ = l.csv.Write(row[:])
}

// end ends the file: how completes it, keeps what was written, or removes it.
func (l *removedList) end(how func(*outfile.File) error) error {
	if l == nil {
		return nil
	}
	l.csv.Flush()
	if err := l.csv.Error(); err != nil {
		return sink.KeepFile(l.file, err)
	}
	return how(l.file)
}

// keepList keeps the file of a run that did not end well.
func keepList(file *outfile.File) error { return sink.KeepFile(file, nil) }
