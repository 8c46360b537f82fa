package flow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
)

// TestDetermines compares Determines with keys of packets: whether those that have one key in
// common have the other one, too.
func TestDetermines(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 2))
	var frames [][]byte
	for range 4000 {
		payload := udp(rng.IntN(2), rng.IntN(2), nil)
		packet := ip4(0, 17, payload)
		copy(packet[12:], []byte{10, 0, 0, byte(rng.IntN(4)), 10, 0, 0, byte(rng.IntN(4))})
		frame := ether(0x0800, packet)
		if rng.IntN(2) == 0 {
			frame = join(frame[:12], be16(0x8100), be16(rng.IntN(2)), frame[12:])
		}
		frames = append(frames, frame)
	}
	b := newBatch(capture.LinkEthernet, frames...)
	var cfgs []KeyConfig
	for of := Src; of <= Biflow; of++ {
		for _, mask := range []int{0, 31, 32} {
			cfgs = append(cfgs, KeyConfig{Kind: of, Mask4: mask}, KeyConfig{Kind: of, Mask4: mask, VLAN: true})
		}
	}
	keys := make([][]string, len(cfgs))
	for i, cfg := range cfgs {
		keys[i] = keysOf(b, cfg, len(frames))
	}
	for i, cfg := range cfgs {
		for j, other := range cfgs {
			want := true
			first := map[string]string{}
			for n, key := range keys[i] {
				known, ok := first[key]
				if !ok {
					first[key] = keys[j][n]
				} else if known != keys[j][n] {
					want = false
				}
			}
			if got := cfg.Determines(other); got != want {
				t.Errorf("%+v, %+v: %v, want %v", cfg, other, got, want)
			}
		}
	}
}

// keysOf returns what the elements of each packet say, in no order.
func keysOf(b *capture.Batch, cfg KeyConfig, packets int) []string {
	elements := make([][]string, packets)
	made := NewMultiKeyer([]KeyConfig{cfg}, DecoderConfig{}).FromFrames(b, 0, packets)[0]
	for i, frame := range made.V4Frame {
		text := ""
		if made.Addr4 != nil {
			text = fmt.Sprintf("%x", made.Addr4[i])
		} else {
			text = fmt.Sprintf("%x", made.V4[i])
		}
		elements[frame] = append(elements[frame], text)
	}
	texts := make([]string, packets)
	for i := range elements {
		slices.Sort(elements[i])
		texts[i] = strings.Join(elements[i], " ")
	}
	return texts
}
