package plan

import (
	"fmt"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/report"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/sizing"
)

// command returns the command line that runs a candidate, nil where this program does
// not run it, or has no such filter in the memory.
func (c *Config) command(from *sizing.Candidate) *string {
	kind, err := c.kind()
	if err != nil || from.MemoryBits == 0 {
		return nil
	}
	var words []string
	switch {
	case c.Of.Packets && (kind == sizing.Sliding || kind == sizing.Count || kind == sizing.Unbounded):
		words = c.dedup(from)
	case !c.Of.Packets && kind == sizing.Landmark && c.Window.Packets == 0:
		words = c.distinct(from)
	}
	if words == nil {
		return nil
	}
	text := "flowdedup " + strings.Join(words, " ")
	return &text
}

func (c *Config) dedup(from *sizing.Candidate) []string {
	words := []string{"dedup", "--window", c.Window.String()}
	switch from.Method.Name {
	case "timed":
		words = append(words, "--memory", report.Size(from.MemoryBits/8))
		if c.FPR != 0 && c.FPR < engine.DefaultFPR {
			words = append(words, "--fpr", fmt.Sprint(c.FPR))
		}
		return words
	case "exact":
		return append(words, "--method", "exact")
	}
	return nil
}

func (c *Config) distinct(from *sizing.Candidate) []string {
	words := []string{"distinct", "--of", c.Of.String()}
	if c.Window.None {
		words = append(words, "--window", "none")
	} else {
		words = append(words, "--every", c.Window.String())
	}
	switch {
	case from.Method.Name == "exact":
		return append(words, "--method", "exact")
	case from.Method.Name == "exact-rows":
		return words
	case from.Method.Name == "bloom-lines" && c.key() == sizing.Other:
		words = append(words, "--memory", report.Size(from.MemoryBits/8))
		if c.FPR != 0 {
			words = append(words, "--fpr", fmt.Sprint(c.FPR))
		}
		return words
	}
	return nil
}
