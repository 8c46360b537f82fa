// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/flowdedup/flowdedup/asm/digest"
	"github.com/flowdedup/flowdedup/capture/headers"
	"github.com/flowdedup/flowdedup/capture/identity"
	"github.com/flowdedup/flowdedup/capture/rotate"
	"github.com/flowdedup/flowdedup/capture/strip"
	"github.com/flowdedup/flowdedup/capture/traits"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/method"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/hubclient"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
	"github.com/flowdedup/flowdedup/layout"
)

// Config configures a run. The caller has checked everything in it.
type Config struct {
	Inputs     []string
	Input      input.Options
	Output     string // "" counts only, "-" is standard output
	Duplicates string // "" keeps no duplicates
	Removed    string // a list of the duplicates, or ""
	// Rotate splits each output into several files, if it has a size or an interval.
	Rotate rotate.Options
	Log    *slog.Logger // gets problems of files that are complete

	Identity identity.Config
	Digest   string // "aes" or "highway"
	Secret   engine.Secret

	// Method is "auto", method.Timed, method.Fine, method.Coarse, "exact", method.Timers, or
	// of stream.Methods, which have no window.
	Method   string
	Params   method.Params // of the method
	Window   window.Window
	Zone     *time.Location // of a landmark window; nil is UTC
	Memory   int            // bytes; 0 chooses by window, size of the inputs and traffic
	FPR      float64        // 0 is the method's own choice
	Verify   int            // bytes of the table that verifies copies; 0 for none
	Timeline bool           // count packets and copies over time
	Pass     bool           // keep all packets, and compare none
	Refresh  bool
	Across   bool
	// Within are the fields of capture points that --within names: only packets of equal points
	// can be copies of each other.
	Within []string
	// Only chooses the packets that are judged; without a condition all are. Other packets are kept
	// and not remembered. Protect chooses packets that are never removed, but remembered. A packet is
	// chosen if any of several conditions matches.
	Only, Protect []input.Condition
	Choice        Choice
	// Hub asks a hub about the packets that stay, nil for none. Its Token has the Identity,
	// Secret and Window of this Config. Choice then chooses nothing, and marks nothing.
	Hub *hubclient.Client
	// InterfaceIndex is input.MatcherConfig.InterfaceIndex, for these conditions.
	InterfaceIndex func(name string) uint32
	conditions     *conditions           // nil before Compile or New
	opened         []string              // names by capture.Section.Input
	list           func(*traits.Removal) // gets duplicates, nil for nothing

	// Live says that packets cannot wait: a filter grows when its memory is ready, and
	// not at a fixed packet.
	Live bool

	Workers int // goroutines that share the work, at least 1; the output does not depend on it
}

// Choice says which of equal packets is kept, and which part of it is written.
type Choice struct {
	Flow   bool              // the packets of a conversation come from one capture point
	Prefer []input.Condition // the best first
	Intact bool              // whole packets with the right checksums before others
	First  bool              // wrong checksums are as good as right ones: --prefer first
	// Hold is how long a packet waits for a better copy. It is 0 where none waits: without
	// Flow, Prefer and Intact.
	Hold time.Duration
	// Counts is the Hold of a run whose counts are asked for, where nothing is written.
	Counts time.Duration
	// Reader says which headers the reader of the output surely opens; nil for all.
	Reader *headers.Plain
	// Delay is how much longer than Hold packets wait in a live run, after their arrival: as
	// long as others may take to arrive.
	Delay time.Duration
	Strip []string // headers that are taken off, as --strip names them
	Slice strip.Slice
	Mark  bool // all packets are written, and copies get a comment
}

// Reassembles reports whether tunnels are opened, so that their fragments are put together.
func (c *Config) Reassembles() bool {
	return c.Identity.Kind == identity.Inner || slices.Contains(c.Choice.Strip, "tunnel")
}

func (c *Config) digester() digest.MessageDigester {
	if c.Digest == "highway" {
		return digest.NewHighway(c.Secret.HighwayKey())
	}
	return digest.NewAES(c.Secret.AESKey(engine.UsePackets))
}

// filter makes the filter.
func (c *Config) filter(inputBytes int64) (engine.PacketFilter, error) {
	if err := c.checkMemory(); err != nil {
		return nil, err
	}
	span := c.span()
	if c.Method == "exact" {
		return window.NewExact(window.ExactConfig{Window: span, Refresh: c.Refresh, Across: c.Across})
	}
	memory, limit, cells := c.Memory, 0, c.cells()
	if memory == 0 {
		memory, limit = c.defaultMemory(inputBytes), math.MaxInt
		if !c.Window.None && memory > leastBudget {
			memory = min(memory, layout.MemoryBudget())
		}
	}
	switch {
	case cells != method.Timed:
		return window.NewCoarse(window.CoarseConfig{
			Window: span, Fine: cells == method.Fine, Memory: memory, Limit: limit, Refresh: c.Refresh,
		})
	case c.Method == method.Timers:
		return window.NewTimers(c.timers(memory))
	case stream.IsMethod(c.Method):
		s, err := c.stream(memory)
		if err != nil {
			return nil, err
		}
		return stream.NewPackets(s)
	}
	return window.NewTimed(window.TimedConfig{
		Window: span, Memory: memory, Limit: limit, FPR: c.FPR, Refresh: c.Refresh, Across: c.Across,
	})
}

// leastBudget is less than the memory budget of any machine, in bytes.
const leastBudget = 4 << 20

// span returns the window of the filter.
func (c *Config) span() window.Window {
	if l := c.landmarks(); l != nil {
		return l.Span()
	}
	return c.Window
}

// landmarks returns the landmark windows that separate packets, nil for other windows.
func (c *Config) landmarks() *window.Landmarks {
	if !c.Window.Landmark {
		return nil
	}
	l, err := window.NewLandmarks(c.Window, c.Zone)
	if err != nil {
		panic("dedup: " + err.Error()) // the caller has parsed the window
	}
	return l
}

// defaultMemory returns the filter's first size without --memory.
func (c *Config) defaultMemory(inputBytes int64) int {
	switch cells := c.cells(); {
	case cells != method.Timed:
		return window.DefaultCoarseMemory(c.span(), cells == method.Fine, inputBytes)
	case c.Method == "auto" || c.Method == method.Timed:
		return window.DefaultTimedMemory(c.span(), inputBytes)
	}
	return window.DefaultMemory(c.span(), inputBytes)
}

// cells returns method.Coarse or method.Fine if the filter has such cells, and else method.Timed.
// These take less memory than timed cells, at a false positive rate that --fpr accepts.
func (c *Config) cells() string {
	switch {
	case c.Method == method.Coarse, c.Method == method.Fine:
		return c.Method
	case c.Method != "auto" || c.Window.None || c.Across || c.FPR < window.FineFPR:
		return method.Timed
	case c.FPR < window.CoarseFPR:
		return method.Fine
	}
	return method.Coarse
}

// checkMemory returns an error that wraps engine.ErrMemory if the machine has less free
// memory than the user asked for. Taking it would swap, or get this process killed.
func (c *Config) checkMemory() error {
	if c.Memory+c.Verify == 0 {
		return nil
	}
	if left, known := layout.MemoryAvailable(); known && int64(c.Memory)+int64(c.Verify) > left {
		return fmt.Errorf("%w: a filter of %s does not fit into the %s that are available", engine.ErrMemory,
			show.Bytes(c.Memory+c.Verify), show.Bytes(left))
	}
	return nil
}
