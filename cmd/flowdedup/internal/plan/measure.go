// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/keys"
	"github.com/flowdedup/flowdedup/capture/pipeline"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/calendar"
	"github.com/flowdedup/flowdedup/engine/sizing"
)

// measurement describes the stream of captures.
type measurement struct {
	Packets  uint64        `json:"packets_in"`
	Filtered uint64        `json:"filtered"` // packets that were not wanted, and are counted nowhere else
	Elements uint64        `json:"elements"`
	Duration time.Duration `json:"duration_ns"` // from the earliest packet to the latest, without false times
	// Rate is the mean number of elements per second, 0 if the capture has no duration.
	Rate float64 `json:"elements_per_second"`
	// WindowElements is the largest number of elements in a window. If the capture is
	// shorter than a window of time, it is extrapolated by the rate. Without a window it
	// is all elements.
	WindowElements float64 `json:"window_elements"`
	Extrapolated   bool    `json:"extrapolated"`
	// DistinctShare is the share of elements that did not come within the window before.
	DistinctShare float64 `json:"distinct_share"`
	// SampledShare is the share of distinct elements that were tracked.
	SampledShare float64 `json:"sampled_share"`
	// Gaps are the distances of repeats within the window, in elements and in seconds.
	Gaps     []gapBin `json:"gaps"`
	TimeGaps []gapBin `json:"gaps_ns"`

	Damaged bool `json:"-"`

	gaps   sizing.Gaps
	sample *sizing.Sample // nil where the capture is shorter than the window
}

// gapBin is the share of repeats whose gap is at most Upto and above the bin before.
type gapBin struct {
	Upto  float64 `json:"upto"`
	Share float64 `json:"share"`
}

// scaledGaps returns the gaps for a window of that many elements.
func (m *measurement) scaledGaps(elements float64) sizing.Gaps {
	if elements == m.WindowElements || m.gaps == nil {
		return m.gaps
	}
	return m.gaps.Times(elements / m.WindowElements)
}

// measure reads captures. The measurement is valid with every error. Errors come from
// input.Stream.
func measure(ctx context.Context, c *config) (*measurement, error) {
	in, err := input.Open(ctx, c.From, c.Input)
	if err != nil {
		return &measurement{}, err
	}
	defer in.Close()
	m := newMeter(c)
	err = in.Each(ctx, 1, func() pipeline.Task {
		return pipeline.InOrder(func(b *capture.Batch) error {
			m.batch(b)
			return nil
		})
	})
	result := m.result()
	result.Filtered = in.Filtered()
	result.Damaged = in.Damaged(err)
	return result, errors.Join(append(in.Failed(), err)...)
}

// meter measures the elements of batches.
type meter struct {
	decoder *headers.Decoder
	source  elements
	track   *sizing.Tracker
	window  time.Duration // 0 unless the window is of time
	packets uint64
	span    sizing.TimeSpan
	headers [capture.GroupSize]headers.Header
}

func newMeter(c *config) *meter {
	return &meter{
		decoder: headers.NewDecoder(headers.DecoderConfig{}),
		source:  newElements(c),
		track:   sizing.NewTracker(c.Window, c.kind == sizing.Landmark, sizing.MaxTracked),
		window:  c.Window.Duration,
		span:    sizing.NewTimeSpan(),
	}
}

func (m *meter) batch(b *capture.Batch) {
	for from, to := range b.Groups() {
		n := to - from
		m.decoder.Decode(m.headers[:n], b, from)
		for i := range n {
			m.span.Add(calendar.Usable(b.Frames[from+i].Time))
		}
		m.packets += uint64(n)
		m.source(b, from, m.headers[:n], func(d digest.Digest, frame int) {
			m.track.Add(d, calendar.Usable(b.Frames[from+frame].Time))
		})
	}
}

func (m *meter) result() *measurement {
	t := m.track
	r := &measurement{
		Packets: m.packets, Elements: t.Elements(),
		DistinctShare: t.DistinctShare(), SampledShare: t.SampledShare(),
		gaps: t.Gaps(),
	}
	r.Gaps = bins(r.gaps)
	r.TimeGaps = bins(t.TimeGaps())
	m.span.Finish()
	seconds := m.span.Seconds()
	r.Duration = time.Duration(seconds * 1e9)
	if seconds > 0 {
		r.Rate = float64(r.Elements) / seconds
	}
	r.WindowElements = t.WindowElements(r.gaps)
	if w := m.window.Seconds(); w > seconds && r.Rate > 0 {
		r.WindowElements, r.Extrapolated = math.Max(r.WindowElements, r.Rate*w), true
	} else {
		r.sample = t.Sample()
	}
	return r
}

// bins drops empty bins.
func bins(gaps sizing.Gaps) []gapBin {
	all := []gapBin{}
	for _, b := range gaps {
		if b.Share > 0 {
			all = append(all, gapBin{Upto: b.Upto, Share: b.Share})
		}
	}
	return all
}

// elements calls add with the digest of each element and the index of its frame in h, in the order of
// frames.
type elements func(b *capture.Batch, from int, h []headers.Header, add func(d digest.Digest, frame int))

// newElements makes digests without a secret, so that a measurement is reproducible. Packets are
// compared by the identity of "flowdedup dedup".
func newElements(c *config) elements {
	key := engine.Secret{}
	if !c.Element.Packets {
		return (&keyReader{
			keyer:     keys.NewKeyer([]keys.Config{{Kind: c.Element.Key}}, headers.DecoderConfig{}),
			addresses: c.Element.Key <= keys.IP,
			ipv6:      c.IPv6,
			v4:        digest.NewAES(key.AESKey(engine.UseIPv4)),
			v6:        digest.NewAES(key.AESKey(engine.UseIPv6)),
		}).each
	}
	packets, digester := identity.New(identity.Config{Kind: identity.L3}), digest.NewAES(key.AESKey(engine.UsePackets))
	digests := make([]digest.Digest, capture.GroupSize)
	return func(b *capture.Batch, from int, h []headers.Header, add func(digest.Digest, int)) {
		packets.FromHeaders(b, from, h).Sum(digests[:len(h)], digester)
		for i, d := range digests[:len(h)] {
			add(d, i)
		}
	}
}

// keyReader reads addresses of one family, or tuples and hardware addresses of all.
type keyReader struct {
	keyer     *keys.Keyer
	addresses bool
	ipv6      bool
	v4, v6    *digest.AES
	wide      [][16]byte
	first     []digest.Digest
	second    []digest.Digest
}

func (k *keyReader) each(b *capture.Batch, from int, h []headers.Header, add func(digest.Digest, int)) {
	g := k.keyer.FromHeaders(b, from, h)[0]
	k.wide = append(append(k.wide[:0], g.V4...), g.MAC...)
	for _, address := range g.Addr4 {
		var key [16]byte
		binary.BigEndian.PutUint32(key[:], address)
		k.wide = append(k.wide, key)
	}
	k.first, k.second = capture.Resize(k.first, len(k.wide)), capture.Resize(k.second, len(g.V6))
	k.v4.Sum16(k.first, k.wide)
	k.v6.Sum48(k.second, g.V6)
	frames := append(append([]uint32(nil), g.V4Frame...), g.MACFrame...)
	first, second := k.first, k.second
	if k.addresses && k.ipv6 {
		first = nil
	} else if k.addresses {
		second = nil
	}
	merge(first, frames, second, g.V6Frame, add)
}

// merge adds two lists of elements in the order of their frames.
func merge(a []digest.Digest, framesA []uint32, b []digest.Digest, framesB []uint32, add func(digest.Digest, int)) {
	for i, j := 0, 0; i < len(a) || j < len(b); {
		if j == len(b) || i < len(a) && framesA[i] <= framesB[j] {
			add(a[i], int(framesA[i]))
			i++
			continue
		}
		add(b[j], int(framesB[j]))
		j++
	}
}
