package dedup

import (
	"log/slog"

	"github.com/flowdedup/flowdedup/asm"
	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/flow"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/input"
	"github.com/flowdedup/flowdedup/engine"
)

// Config says what a run does. Everything in it is checked by the caller.
type Config struct {
	Inputs     []string
	Input      input.Options
	Output     string // "" counts only, "-" is standard output
	Duplicates string // "" keeps no duplicates
	// Rotate makes several files of each, where it has a size or an interval.
	Rotate capture.RotateOptions
	Log    *slog.Logger // is told what goes wrong with files that are complete

	Identity flow.IdentityConfig
	Digest   string // "aes" or "highway"
	Secret   engine.Secret

	Method  string // "auto", "timed", "exact" or one of engine.StreamMethods, which have no window
	Window  engine.Window
	Memory  int     // bytes; 0 chooses by window and size of the inputs
	FPR     float64 // 0 is the method's own choice
	Refresh bool
	Across  bool

	Workers int // goroutines that share the work, at least 1; what comes out does not depend on it
}

func (c *Config) digester() asm.MessageDigester {
	if c.Digest == "highway" {
		return asm.NewHighway(c.Secret.HighwayKey())
	}
	return asm.NewAES(c.Secret.AESKey(engine.KeyPackets))
}

func (c *Config) filter(inputBytes int64) (engine.PacketFilter, error) {
	if c.Method == "exact" {
		return engine.NewExactWindow(engine.ExactWindowConfig{Window: c.Window, Refresh: c.Refresh, Across: c.Across})
	}
	memory := c.Memory
	if memory == 0 {
		memory = engine.DefaultMemory(c.Window, inputBytes)
	}
	if engine.IsStreamMethod(c.Method) {
		return engine.NewStreamPackets(engine.StreamConfig{Method: c.Method, Memory: memory, FPR: c.FPR})
	}
	return engine.NewTimed(engine.TimedConfig{
		Window: c.Window, Memory: memory, FPR: c.FPR, Refresh: c.Refresh, Across: c.Across,
	})
}
