// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/compressed"
	"github.com/flowdedup/flowdedup/capture/outfile"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
)

// IsFolder reports whether an output is a folder, which gets a file for each input: it is there, or
// its name ends as the names of folders do.
func IsFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir() || errors.Is(err, fs.ErrNotExist) && strings.HasSuffix(filepath.ToSlash(name), "/")
}

// InFolder returns the name of the file that an input has in a folder.
func InFolder(folder, input string) string { return filepath.Join(folder, filepath.Base(input)) }

// maxActive is how many files of a folder have memory to gather and compress.
const maxActive = 16

// folder is an output that has a file for each input, with its name, format and compression. It
// never replaces a file. The files get their names at the end of the run.
type folder struct {
	ctx    context.Context // of the run
	name   string
	made   bool // by this run
	lock   *outfile.Lock
	files  []*mirrored // by input
	active []*mirrored // that have memory, in the order of their last writes
	// numbers within the input, of what is numbered in batches
	interfaces, sections []uint32
	complete             uint64
}

// mirrored is the file of an input.
type mirrored struct {
	single
	batch capture.Batch // the part of a batch that is the input's
}

// openFolder opens the files of a folder, so that no other run writes there.
func (s *Set) openFolder(ctx context.Context, name string, derived bool) (_ destination, err error) {
	d := &folder{ctx: ctx, name: name}
	defer func() {
		if err != nil {
			_ = d.discard()
		}
	}()
	if err = os.Mkdir(name, 0o777); err == nil {
		d.made = true
	} else if !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if d.lock, err = outfile.LockName(filepath.Join(name, "*")); err != nil {
		return nil, err
	}
	opt := s.cfg.Rotate.Output
	opt.Plain, opt.Regular, opt.Locked = true, true, true
	for _, input := range s.cfg.Inputs {
		to := InFolder(name, input)
		if _, err := os.Lstat(to); err == nil {
			return nil, &fs.PathError{Op: "create", Path: to, Err: fs.ErrExist}
		}
		file, err := outfile.Create(ctx, to, opt)
		if err != nil {
			return nil, err
		}
		file.CompressAs(endingOf(input))
		writer := pcapfile.NewWriter(file, pcapfile.WriterOptions{Derived: derived, Warn: s.warner(name, to)})
		d.files = append(d.files, &mirrored{single: single{file: file, writer: writer, log: s.cfg.Log}})
	}
	return d, nil
}

// endingOf returns the ending of names for the compression of an input, whatever its name.
func endingOf(input string) string {
	file, err := outfile.OpenRegular(input)
	if err != nil {
		return ""
	}
	defer file.Close()
	head := make([]byte, 4)
	n, _ := file.Read(head) // an unreadable input is reported by its reader
	return compressed.Ending(head[:n])
}

// Write gives each file the blocks and kept packets of its input.
func (d *folder) Write(b *capture.Batch, drop []uint64) error {
	d.number(b)
	block, n := 0, len(b.Frames)
	for i := range n + 1 {
		for ; block < len(b.Blocks) && int(b.Blocks[block].Before) <= i; block++ {
			d.addBlock(b, block)
		}
		if i < n && (drop == nil || drop[i/64]>>(i%64)&1 == 0) {
			d.addFrame(b, i)
		}
	}
	for _, m := range d.files {
		if len(m.batch.Frames) > 0 { // headers wait for packets
			if err := d.write(m); err != nil {
				return err
			}
		}
	}
	return nil
}

// number gives new sections and interfaces their numbers within the input.
func (d *folder) number(b *capture.Batch) {
	for _, s := range b.Sections[len(d.sections):] {
		m := &d.files[s.Input].batch
		d.sections = append(d.sections, uint32(len(m.Sections)))
		m.Sections = append(m.Sections, s)
	}
	for _, f := range b.Interfaces[len(d.interfaces):] {
		m := &d.files[b.Sections[f.Section].Input].batch
		d.interfaces = append(d.interfaces, uint32(len(m.Interfaces)))
		f.Section = d.sections[f.Section]
		m.Interfaces = append(m.Interfaces, f)
	}
}

func (d *folder) addBlock(b *capture.Batch, i int) {
	k := b.Blocks[i]
	m := &d.files[b.Sections[k.Section].Input].batch
	k.Section, k.Offset, k.Before = d.sections[k.Section], uint32(len(m.Buf)), uint32(len(m.Frames))
	m.Buf, m.Blocks = append(m.Buf, b.Block(i)...), append(m.Blocks, k)
}

func (d *folder) addFrame(b *capture.Batch, i int) {
	f := b.Frames[i]
	m := &d.files[b.Sections[b.Interfaces[f.Interface].Section].Input].batch
	shift := uint32(len(m.Buf)) - f.Record // modulo 1<<32
	f.Record, f.Data, f.Interface = f.Record+shift, f.Data+shift, d.interfaces[f.Interface]
	m.Buf, m.Frames = append(m.Buf, b.Record(i)...), append(m.Frames, f)
}

// write writes what a file has got, and frees the memory of the file that was written least recently.
func (d *folder) write(m *mirrored) error {
	if err := m.writer.Write(&m.batch, nil); err != nil {
		return err
	}
	m.batch.Reset()
	if i := slices.Index(d.active, m); i >= 0 {
		d.active = slices.Delete(d.active, i, i+1)
	}
	if d.active = append(d.active, m); len(d.active) <= maxActive {
		return nil
	}
	idle := d.active[0]
	d.active = slices.Delete(d.active, 0, 1)
	idle.batch.Buf, idle.batch.Frames, idle.batch.Blocks = nil, nil, nil
	return pcapfile.ParkWriter(idle.writer)
}

// commit gives all files their names, also those of inputs without kept packets.
func (d *folder) commit() error {
	var errs []error
	for _, m := range d.files {
		err := m.writer.Write(&m.batch, nil)
		if err == nil {
			err = m.single.commit()
		} else {
			err = KeepFile(m.file, err)
		}
		if errs = append(errs, err); err == nil {
			d.complete++
		}
	}
	return errors.Join(append(errs, d.lock.Unlock())...)
}

// keep gives all files their names after damage. Files of a run that was cut short get partial names,
// and files without packets none.
func (d *folder) keep(cut bool) error {
	if !cut && d.ctx.Err() == nil {
		return d.commit()
	}
	var errs []error
	begun := false
	for _, m := range d.files {
		if m.writer.Written() == 0 && len(m.batch.Frames) == 0 && !slices.Contains(d.active, m) {
			errs = append(errs, m.file.Discard())
			continue
		}
		begun = true
		_ = m.writer.Close() // an error would come from the file
		_, err := m.file.KeepPartial()
		errs = append(errs, err)
	}
	errs = append(errs, d.lock.Unlock())
	if err := errors.Join(errs...); err != nil || !begun {
		return err
	}
	return &KeptError{Name: d.name, File: InFolder(d.name, "*"+outfile.Partial+".*")}
}

func (d *folder) discard() error {
	var errs []error
	for _, m := range d.files {
		errs = append(errs, m.file.Discard())
	}
	if d.lock != nil {
		errs = append(errs, d.lock.Unlock())
	}
	if d.made {
		_ = os.Remove(d.name) // it may have got files of others
	}
	return errors.Join(errs...)
}

func (d *folder) retries() bool { return false }

func (d *folder) counts() outcome {
	o := outcome{files: d.complete}
	for _, m := range d.files {
		o.written += m.writer.Written()
		o.skipped += m.writer.Skipped()
	}
	return o
}
