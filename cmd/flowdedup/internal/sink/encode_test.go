// SPDX-License-Identifier: Apache-2.0

package sink

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/strip"
)

// numberedBatches returns n batches of 100 packets of one interface.
func numberedBatches(n int) (all []*capture.Batch) {
	first := &capture.Batch{}
	first.AppendInterface(capture.Interface{LinkType: capture.LinkEthernet})
	for i := range n {
		b := first
		if i > 0 {
			b = &capture.Batch{Interfaces: first.Interfaces, Sections: first.Sections}
		}
		for k := range 100 {
			b.Append(capture.Frame{Time: int64(i*100 + k)}, bytes.Repeat([]byte{byte(i), byte(k)}, 30+k))
		}
		all = append(all, b)
	}
	return all
}

// TestEncode writes the same files, and the same counts, whether or not batches are encoded
// before the ones before them are written.
func TestEncode(t *testing.T) {
	for name, cfg := range map[string]Config{
		"kept": {Kept: "kept.pcapng"}, "both": {Kept: "kept.pcapng", Removed: "removed.pcapng"}, "removed": {Removed: "removed.pcapng"},
		"converted": {Kept: "kept.pcap"}, "compressed": {Kept: "kept.pcapng.gz"}, "none": {},
		"cut": {Kept: "kept.pcapng", Slice: strip.Slice{Bytes: 64}}, "stripped": {Kept: "kept.pcapng", Strip: strip.VLAN},
	} {
		t.Run(name, func(t *testing.T) {
			run := func(ahead int) (files map[string][]byte, outputs []Output, encoded int) {
				files = map[string][]byte{}
				dir, cfg := t.TempDir(), cfg
				for _, name := range []*string{&cfg.Kept, &cfg.Removed} {
					if *name != "" {
						*name = filepath.Join(dir, *name)
					}
				}
				s := New(context.Background(), cfg)
				if err := s.OpenFiles(context.Background()); err != nil {
					t.Fatal(err)
				}
				encoded = writeAhead(t, s, ahead)
				if outputs = s.List(); s.Commit() != nil {
					t.Fatal("not complete")
				}
				for i := range outputs {
					data, err := os.ReadFile(outputs[i].Name)
					if err != nil {
						t.Fatal(err)
					}
					outputs[i].Name = filepath.Base(outputs[i].Name)
					files[outputs[i].Name] = data
				}
				return files, outputs, encoded
			}
			want, counts, _ := run(-1)
			for ahead := range 4 {
				got, outputs, encoded := run(ahead)
				for name := range want {
					if !bytes.Equal(got[name], want[name]) {
						t.Errorf("%d ahead: %s of %d bytes, want %d", ahead, name, len(got[name]), len(want[name]))
					}
				}
				if !slices.Equal(outputs, counts) {
					t.Errorf("%d ahead: %+v, want %+v", ahead, outputs, counts)
				}
				if some := encoded > 0; some != (name == "kept" || name == "both" || name == "compressed") {
					t.Errorf("%d ahead: records of %d batches were gathered", ahead, encoded)
				}
			}
		})
	}
}

// writeAhead writes batches to a set: none is encoded if ahead is negative, else each before
// so many before it are written. It returns how many had their records gathered.
func writeAhead(t *testing.T, s *Set, ahead int) (gathered int) {
	t.Helper()
	drop := []uint64{0xf0f0_0000_0000_0001, 0x7}
	all := numberedBatches(8)
	var encodings []*encoding
	for i := range len(all) + max(ahead, 0) {
		if ahead >= 0 && i < len(all) {
			e := s.NewEncoding().(*encoding)
			if e.Encode(all[i], drop); e.to != nil {
				gathered++
			}
			encodings = append(encodings, e)
		}
		at := i - max(ahead, 0)
		if at < 0 {
			continue
		}
		var err error
		if ahead < 0 {
			err = s.Write(all[at], drop)
		} else {
			err = encodings[at].Write(all[at], drop)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return gathered
}

// TestEncodeFails checks that a failure of gathered records is one of the output, once.
func TestEncodeFails(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.pcapng")
	s := New(context.Background(), Config{Kept: name})
	if err := s.OpenFiles(context.Background()); err != nil {
		t.Fatal(err)
	}
	all := numberedBatches(3)
	e := s.NewEncoding()
	if err := e.Write(all[0], nil); err != nil {
		t.Fatal(err)
	}
	if err := s.outputs[0].destination.(*single).file.Discard(); err != nil {
		t.Fatal(err)
	}
	var err error
	for _, b := range all[1:] {
		for range 200 { // more than is gathered
			e.Encode(b, []uint64{0, 0})
			err = errors.Join(err, e.Write(b, []uint64{0, 0}))
		}
	}
	if !errors.Is(err, ErrOutput) || bytes.Count([]byte(err.Error()), []byte("closed")) != 1 {
		t.Errorf("%v", err)
	}
	if o := s.List()[0]; o.Failed == "" || o.Packets+o.Lost != 100+2*200*100 {
		t.Errorf("%+v", o)
	}
}
