// SPDX-License-Identifier: Apache-2.0

package distinct_test

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/clitest"
)

// secondsPcap makes a capture with a number of packets in each of the given seconds, in
// this order.
func secondsPcap(seconds []int, packets func(second int) int) []byte {
	const head, record = 24, 36
	one := clitest.HourlyPcap(1)
	data := slices.Clone(one[:head])
	for _, second := range seconds {
		for i := range packets(second) {
			data = append(data, one[head:]...)
			binary.LittleEndian.PutUint32(data[len(data)-record:], uint32(second))
			data[len(data)-5] = byte(i) // of the source
		}
	}
	return data
}

// TestGapsOfManyWindows counts in more windows than are open at once, some of them much
// larger than others, by one clock and by two. Each window has its rows once, and only
// windows without packets have rows of zeros.
func TestGapsOfManyWindows(t *testing.T) {
	var oneClock, twoClocks []int
	for second := range 300 {
		if second%17 == 16 {
			continue
		}
		oneClock = append(oneClock, second)
		twoClocks = append(twoClocks, second)
		if second%3 == 0 {
			twoClocks = append(twoClocks, second+20)
		}
	}
	packets := func(second int) int { return 1 + second*7%13 }
	for name, seconds := range map[string][]int{"one clock": oneClock, "two clocks": twoClocks} {
		in := filepath.Join(t.TempDir(), "many.pcap")
		if err := os.WriteFile(in, secondsPcap(seconds, packets), 0o600); err != nil {
			t.Fatal(err)
		}
		want := map[string]uint64{}
		for second := range slices.Max(seconds) + 1 {
			want[stampOf(time.Unix(int64(second), 0).UTC())] = 0
		}
		for _, second := range seconds {
			want[stampOf(time.Unix(int64(second), 0).UTC())] += uint64(packets(second))
		}
		for _, row := range clitest.RunDistinct(t, in, "--no-merge", "--of", "src", "--every", "1s", "--gaps") {
			if row.Family != "ipv4" {
				continue
			}
			if n, ok := want[row.WindowStart]; !ok || n != row.Packets {
				t.Errorf("%s: window %s has %d packets, want %d once", name, row.WindowStart, row.Packets, n)
			}
			delete(want, row.WindowStart)
		}
		if len(want) > 0 {
			t.Errorf("%s: no rows of %v", name, want)
		}
	}
}
