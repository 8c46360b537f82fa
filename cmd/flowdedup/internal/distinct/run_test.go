// SPDX-License-Identifier: Apache-2.0

package distinct

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/count"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/distinct/windows"
)

// hourly makes a pcap of raw IPv4 headers, one an hour.
func hourly(t *testing.T, n int) string {
	t.Helper()
	le := binary.LittleEndian
	data := le.AppendUint32(nil, 0xa1b2c3d4)
	data = append(data, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	data = le.AppendUint32(le.AppendUint32(data, 65535), 101)
	for i := range n {
		data = le.AppendUint32(le.AppendUint32(data, uint32(i*3600)), 0)
		data = le.AppendUint32(le.AppendUint32(data, 20), 20)
		data = append(data, 0x45, 0, 0, 20, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2)
	}
	name := filepath.Join(t.TempDir(), "hourly.pcap")
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestFailedRowsEndRun checks that a run ends with the first row that cannot be emitted.
func TestFailedRowsEndRun(t *testing.T) {
	const packets = 20000
	full := errors.New("full")
	calls := 0
	result, err := Run(context.Background(), Config{
		Inputs: []string{hourly(t, packets)}, Input: input.Options{Warn: func(error) {}},
		Config: count.Config{
			Keys:   []keys.Config{{Kind: keys.Src}},
			Config: windows.Config{Calendar: calendar.Calendar{Every: time.Hour}, Method: "exact"},
			Rows:   func([]count.Row) error { calls++; return full },
		},
	})
	var failed *count.OutputError
	if !errors.Is(err, full) || !errors.As(err, &failed) || calls != 1 {
		t.Errorf("error %v, %d calls", err, calls)
	}
	if result.Packets == 0 || result.Packets > packets/2 {
		t.Errorf("%d of %d packets read", result.Packets, packets)
	}
}

// TestDamageAndFailedRows checks for both errors if the rows that fail are the last ones.
func TestDamageAndFailedRows(t *testing.T) {
	name := hourly(t, 3)
	if err := os.Truncate(name, 24+3*36-1); err != nil {
		t.Fatal(err)
	}
	full := errors.New("full")
	result, err := Run(context.Background(), Config{
		Inputs: []string{name}, Input: input.Options{Warn: func(error) {}},
		Config: count.Config{
			Keys: []keys.Config{{Kind: keys.Src}}, Config: windows.Config{Method: "exact"},
			Rows: func([]count.Row) error { return full },
		},
	})
	if !errors.Is(err, full) || !errors.Is(err, capture.ErrTruncated) || !result.Damaged || result.Packets != 2 {
		t.Errorf("error %v, %+v", err, result)
	}
}
