// SPDX-License-Identifier: Apache-2.0

package pcapoverip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/flowdedup/flowdedup/bench/lab/wait"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/records"
	"github.com/flowdedup/flowdedup/capture/records/export"
)

// TestBegin reads IPFIX from several peers, and ends a peer that sends something else.
func TestBegin(t *testing.T) {
	noGoroutines(t)
	var w warned
	r, a := receiving(t, "tcp-listen://:0", ReceiverConfig{Warn: w.warn, Begin: func(r io.Reader, name string, from netip.AddrPort) (capture.Source, error) {
		return export.NewStream(r, name, from), nil
	}})
	// A template of a port, and a record of it.
	message := []byte("\x00\x0a\x00\x00\x00\x00\x03\x84\x00\x00\x00\x00\x00\x00\x00\x01\x00\x02\x00\x0c\x01\x00\x00\x01\x00\x07\x00\x02\x01\x00\x00\x06\x00\x50")
	binary.BigEndian.PutUint16(message[2:], uint16(len(message)))
	numbered := func(n byte) []byte {
		message[11] = n
		return bytes.Clone(message)
	}
	contents := [][]byte{numbered(0), slices.Concat(numbered(1), numbered(2), numbered(3)), []byte("GET / HTTP/1.0\r\n\r\n")}
	var conns []net.Conn
	for range contents {
		conns = append(conns, connect(t, r.listener.Addr()))
	}
	// The receiver ends with the last stream, so that none may end before all have come.
	wait.Until(t, "peers", func() bool { return r.Stats().Peers == uint64(len(conns)) })
	for i, content := range contents {
		conn := conns[i]
		go func() {
			_, _ = conn.Write(content[:len(content)/2+i])
			_, _ = conn.Write(content[len(content)/2+i:])
			_ = conn.Close()
		}()
	}
	reader, n := export.NewReader(a), 0
	var b records.Batch
	for {
		err := reader.ReadBatch(&b)
		if err != nil {
			if err != io.EOF && !errors.Is(err, capture.ErrDamaged) {
				t.Error(err)
			}
			break
		}
		for _, rec := range b.Records {
			if n++; rec.SourcePort != 80 || rec.Point.Exporter != netip.MustParseAddr("127.0.0.1") || rec.Received <= 0 {
				t.Errorf("%+v", rec)
			}
		}
	}
	if n != 4 {
		t.Errorf("%d records: %s", n, w.text())
	}
	w.await(t, "not an IPFIX message")
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
