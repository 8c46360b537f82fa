// SPDX-License-Identifier: Apache-2.0

package relay_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/export"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
	"github.com/flowdedup/flowdedup/capture/records/relay"
)

// TestSharedUnharmed takes messages of real exporters through a cutter: the same bytes if
// nothing is a copy, else what was kept.
func TestSharedUnharmed(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, name := range exporttest.Shared(t, "*") {
		for _, b := range readFile(t, name) {
			v := make([]records.Verdict, len(b.Records))
			if out := relay.NewCutter().Cut(nil, &b, v); !bytes.Equal(out, b.Raw) {
				t.Errorf("%s: a message changed", name)
			}
			copies := 0
			for i := range v {
				if v[i] = records.Verdict(rng.IntN(2)); v[i] == records.Copy {
					copies++
				}
			}
			if out := relay.NewCutter().Cut(nil, &b, v); copies > 0 && len(out) >= len(b.Raw) || copies < len(v) && len(out) == 0 {
				t.Errorf("%s: %d of %d bytes without %d of %d records", name, len(out), len(b.Raw), copies, len(v))
			}
		}
	}
}

// readFile returns the messages of a file. A datagram comes behind its templates.
func readFile(t *testing.T, name string) []records.Batch {
	t.Helper()
	switch filepath.Ext(name) {
	case ".pcap":
		src, err := pcapfile.Open(name, pcapfile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer src.Close()
		return exporttest.ReadAll(t, export.NewReader(src))
	case ".ipfix":
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return exporttest.ReadAll(t, export.NewReader(export.NewStream(f, name, netip.AddrPort{})))
	case ".dat":
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var messages [][]byte
		stem, _, _ := strings.Cut(name, "_data")
		templates, err := filepath.Glob(stem + "_tpl*")
		if err != nil {
			t.Fatal(err)
		}
		for _, other := range templates {
			template, err := os.ReadFile(other)
			if err != nil {
				t.Fatal(err)
			}
			messages = append(messages, template)
		}
		all, _ := read(t, append(messages, data)...)
		return all
	}
	return nil
}

// TestShared expects two exporters of the same domain to be found if their messages have templates.
func TestShared(t *testing.T) {
	message := func(kind records.Kind, from string, domain uint32) *records.Batch {
		raw := make([]byte, 24)
		switch kind {
		case records.NetFlow5:
			binary.BigEndian.PutUint16(raw, 5)
		case records.NetFlow9:
			binary.BigEndian.PutUint16(raw, 9)
			binary.BigEndian.PutUint32(raw[16:], domain)
		case records.IPFIX:
			binary.BigEndian.PutUint16(raw, 10)
			binary.BigEndian.PutUint16(raw[2:], 16)
			binary.BigEndian.PutUint32(raw[12:], domain)
		}
		return &records.Batch{Kind: kind, Raw: raw, From: netip.MustParseAddrPort(from + ":2055")}
	}
	a, b := "192.0.2.1", "192.0.2.2"
	for name, tt := range map[string]struct {
		messages []*records.Batch
		want     *relay.Shared
	}{
		"one exporter": {[]*records.Batch{message(records.IPFIX, a, 7), message(records.IPFIX, a, 7)}, nil},
		"two domains":  {[]*records.Batch{message(records.IPFIX, a, 7), message(records.IPFIX, b, 8)}, nil},
		"two versions": {[]*records.Batch{message(records.IPFIX, a, 7), message(records.NetFlow9, b, 7)}, nil},
		"no templates": {[]*records.Batch{message(records.NetFlow5, a, 0), message(records.NetFlow5, b, 0)}, nil},
		"IPFIX":        {[]*records.Batch{message(records.IPFIX, a, 7), message(records.IPFIX, b, 7)}, &relay.Shared{Domain: 7}},
		"NetFlow v9":   {[]*records.Batch{message(records.NetFlow9, a, 0), message(records.IPFIX, b, 9), message(records.NetFlow9, b, 0)}, &relay.Shared{}},
	} {
		c := relay.NewCutter()
		for _, m := range tt.messages {
			c.Cut(nil, m, nil)
		}
		if tt.want != nil {
			tt.want.Exporters = [2]netip.Addr{netip.MustParseAddr(a), netip.MustParseAddr(b)}
		}
		switch got := c.Shared(); {
		case (got == nil) != (tt.want == nil), got != nil && *got != *tt.want:
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}
