// SPDX-License-Identifier: Apache-2.0

package export

import (
	"bytes"
	"errors"
	"io"
	"net/netip"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/internal/exporttest"
)

// TestStream reads IPFIX messages one after another, and says where one is damaged.
func TestStream(t *testing.T) {
	messages := [][]byte{
		exporttest.IPFIX(900, 0, 1, exporttest.Set(2, exporttest.Template(256, exporttest.UsualTemplate...)), exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...))),
		exporttest.IPFIX(901, 3, 1, exporttest.Set(256, exporttest.UsualRecords(exporttest.Flows...))),
		exporttest.IPFIX(902, 6, 1, exporttest.Set(256, bytes.Repeat(exporttest.UsualRecords(exporttest.Flows...), 480))), // of 64,820 bytes
	}
	whole := slices.Concat(messages...)
	cases := []struct {
		name    string
		data    []byte
		records int
		err     error
		offset  int64
	}{
		{"whole", whole, 3 + 3 + 1440, nil, 0},
		{"cut short", whole[:len(whole)-1], 6, capture.ErrTruncated, int64(len(messages[0]) + len(messages[1]))},
		{"a header cut short", whole[:len(messages[0])+5], 3, capture.ErrTruncated, int64(len(messages[0]))},
		{"something else", append(slices.Clone(messages[0]), "something else, not IPFIX"...), 3, capture.ErrDamaged, int64(len(messages[0]))},
		{"nothing", nil, 0, nil, 0},
	}
	for _, c := range cases {
		for name, from := range map[string]netip.AddrPort{"file": {}, "IPv4": netip.MustParseAddrPort("192.0.2.1:4739"), "IPv6": netip.MustParseAddrPort("[2001:db8::1]:4739")} {
			t.Run(c.name+", "+name, func(t *testing.T) {
				r := NewReader(NewStream(iotest.HalfReader(bytes.NewReader(c.data)), "flows.ipfix", from))
				n, err := readSome(r)
				var damage *capture.InputError
				if n != c.records || c.err == nil && err != io.EOF || c.err != nil && (!errors.Is(err, c.err) || !errors.As(err, &damage)) {
					t.Fatalf("%d records, not %d: %v", n, c.records, err)
				}
				if damage != nil && (damage.Offset != c.offset || damage.Input != "flows.ipfix") {
					t.Errorf("%v, not at %d", damage, c.offset)
				}
				if r.Counts().Foreign != 0 || r.Counts().Lost != 0 {
					t.Errorf("%+v", r.Counts())
				}
			})
		}
	}
}

// readSome returns the number of records until an error.
func readSome(r *Reader) (n int, err error) {
	for {
		var b records.Batch
		if err := r.ReadBatch(&b); err != nil {
			return n, err
		}
		n += len(b.Records)
	}
}
