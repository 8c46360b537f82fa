// SPDX-License-Identifier: Apache-2.0

package count

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/sink"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/distinct/countfile"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// SaveHeader returns the header of a run's files. sensor is the name of the sensor; "" stands
// for the name of the file.
func (c *Config) SaveHeader(sensor string) countfile.Header {
	var names []string
	for _, k := range c.Keys {
		names = append(names, k.Kind.String())
	}
	slices.Sort(names)
	key, first := c.Secret.AESKey(engine.UseCounts), &c.Keys[0]
	h := countfile.Header{Sensor: sensor, Settings: []countfile.Setting{
		{Name: countfile.OfSetting, Value: strings.Join(names, ",")},
		{Name: "every", Value: c.Calendar.Every.String()}, {Name: countfile.ZoneSetting, Value: c.zone().String()},
		{Name: "mask4", Value: strconv.Itoa(first.Mask4)}, {Name: "mask6", Value: strconv.Itoa(first.Mask6)},
		{Name: "vlan", Value: strconv.FormatBool(first.VLAN)}, {Name: "inner", Value: strconv.FormatBool(c.Inner)},
		{Name: countfile.KeySetting, Value: hex.EncodeToString(key[:8])},
	}}
	if ports := c.Tunnels.String(); ports != "" {
		h.Settings = append(h.Settings, countfile.Setting{Name: "tunnel", Value: ports})
	}
	return h
}

// SavedFile is a file that windows are saved to.
type SavedFile struct {
	file   *outfile.File
	buf    *bufio.Writer
	writer *countfile.Writer
}

// CreateSaved makes a file for all windows of a run.
func CreateSaved(ctx context.Context, name string, h countfile.Header) (*SavedFile, error) {
	file, err := outfile.Create(ctx, name, outfile.Options{Plain: true})
	if err != nil {
		return nil, err
	}
	return newSaved(file, h), nil
}

func newSaved(file *outfile.File, h countfile.Header) *SavedFile {
	buf := bufio.NewWriterSize(file, 256<<10)
	return &SavedFile{file, buf, countfile.NewWriter(buf, h)}
}

// Add saves a window.
func (s *SavedFile) Add(window countfile.Span, all []windows.SavedSeries) error {
	if err := s.writer.Window(window); err != nil {
		return err
	}
	for i := range all {
		one := &all[i]
		if one.Level > 0 {
			return errSampled
		}
		if err := s.writer.Series(one.Key, one.Family, one.Packets, one.Contents); err != nil {
			return err
		}
	}
	return nil
}

var errSampled = errors.New("the window was counted by a sample, by a run that saved nothing: it cannot be saved")

// Joint saves the union of the windows of several files.
func (s *SavedFile) Joint(ctx context.Context, w *countfile.Joint) error {
	return s.writer.Joint(ctx, w)
}

// Close completes the file after a clean end. After any other end it keeps the windows so
// far under a name of its own, or removes the file if nothing was read.
func (s *SavedFile) Close(clean, read bool) error {
	if !clean && !read {
		return s.file.Discard()
	}
	_, err := s.writer.Close()
	if err = errors.Join(err, s.buf.Flush()); err == nil && clean {
		return s.file.Commit()
	}
	return sink.KeepFile(s.file, err)
}

// SavedFolder is a folder that gets a file for each window.
type SavedFolder struct {
	dir    string
	header countfile.Header
}

// NewSavedFolder returns a folder, which must be there.
func NewSavedFolder(dir string, h countfile.Header) *SavedFolder { return &SavedFolder{dir, h} }

// Add saves a window, in a file named by sensor and begin: roof-20261122T140000Z.counts.
// If a run before has saved a part of the window, the name gets a number, and both merge.
func (f *SavedFolder) Add(window countfile.Span, all []windows.SavedSeries) error {
	begin := "untimed"
	if window.Start != math.MinInt64 {
		begin = time.Unix(0, window.Start).UTC().Format("20060102T150405Z")
	}
	base := f.header.Sensor + "-" + begin
	number := 0
	next := func() string {
		if number++; number == 1 {
			return base + SavedEnding
		}
		return fmt.Sprintf("%s.%d%s", base, number, SavedEnding)
	}
	file, err := outfile.CreateNew(filepath.Join(f.dir, base+SavedEnding), next, outfile.Options{Plain: true})
	if err != nil {
		return err
	}
	s := newSaved(file, f.header)
	if err := s.Add(window, all); err != nil {
		return errors.Join(err, s.file.Discard())
	}
	return s.Close(true, true)
}

// SavedEnding is the ending of the names of files in a SavedFolder.
const SavedEnding = ".counts"
