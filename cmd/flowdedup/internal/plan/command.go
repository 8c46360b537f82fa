// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/method"
	"github.com/flowdedup/flowdedup/engine"
	"github.com/flowdedup/flowdedup/engine/sizing"
	"github.com/flowdedup/flowdedup/engine/stream"
	"github.com/flowdedup/flowdedup/engine/window"
)

// runs reports whether a command has a method for such windows and elements.
func (c *config) runs(m *sizing.Method) bool {
	return c.command(&sizing.Candidate{Method: m, MemoryBits: 8 << 20}) != nil
}

// command returns the command line that runs a candidate. It is nil if this program has
// no such method, parameters or filter in that memory.
func (c *config) command(from *sizing.Candidate) *string {
	kind, err := c.kind()
	if err != nil || from.MemoryBits == 0 {
		return nil
	}
	var words []string
	switch {
	case c.Element.Packets && kind != sizing.Landmark: // a window that slides finds all that jumps find
		words = c.dedup(from)
	case !c.Element.Packets && kind == sizing.Sliding && c.Window.Duration > 0:
		words = c.sliding(from)
	case !c.Element.Packets && (kind == sizing.Landmark && c.Window.Packets == 0 || kind == sizing.Unbounded):
		words = c.distinct(from)
	}
	if words == nil {
		return nil
	}
	text := "flowdedup " + strings.Join(words, " ")
	return &text
}

func (c *config) dedup(from *sizing.Candidate) []string {
	words := []string{"dedup", "--window", c.Window.String()}
	if c.Refresh {
		words = append(words, "--refresh")
	}
	switch from.Method.Name {
	case "timed":
		return append(words, c.bounds(from, c.FPR != 0 && c.FPR < engine.DefaultFPR)...)
	case "lru":
		words = append(words, "--method", "lru")
		return append(words, c.bounds(from, c.FPR != 0)...)
	case method.Coarse, method.Fine:
		words = append(words, "--method", from.Method.Name)
		return append(words, c.bounds(from, false)...)
	case "exact":
		return append(words, "--method", "exact")
	}
	if from.Method.Name != method.Timers && from.Method.Name != method.Partitioned && !stream.IsMethod(from.Method.Name) {
		return nil
	}
	words = append(words, "--method", from.Method.Name, "--param", params(from).String())
	return append(words, c.bounds(from, false)...)
}

// params returns the parameters of a candidate that --param takes. The others follow from
// the memory.
func params(from *sizing.Candidate) method.Params {
	all := method.Params{}
	for _, p := range from.Parameters {
		if name := strings.ReplaceAll(p.Name, " ", "-"); method.HasParam(from.Method.Name, name) {
			all[name] = float64(p.Value)
		}
	}
	return all
}

func (c *config) distinct(from *sizing.Candidate) []string {
	words := []string{"distinct", "--of", c.Element.String(), "--every", c.Window.String()}
	switch {
	case from.Method.Name == "exact":
		return append(words, "--method", "exact")
	case from.Method.Name == "exact-rows", from.Method.Name == "digest-rows" && c.key() == sizing.Other:
		return append(words, c.growthBound(from)...)
	case from.Method.Name == "bloom-lines" && c.key() == sizing.Other:
		words = append(words, "--method", "bloom")
		words = append(words, c.bounds(from, false)...)
		return append(words, "--fpr", fmt.Sprint(cmp.Or(c.FPR, engine.DefaultFPR)))
	case from.Method.Name == "lru" && c.key() == sizing.Other:
		words = append(words, "--method", "lru")
		return append(words, c.bounds(from, c.FPR != 0)...)
	}
	return nil
}

// growthBound returns --memory of the question for rows that grow as needed. While rows
// double, the old ones of half the size take memory, too. With less memory, counters would
// sample keys, so there is no bound.
func (c *config) growthBound(from *sizing.Candidate) []string {
	if c.MemoryBits < from.MemoryBits+from.MemoryBits/2 {
		return nil
	}
	return []string{"--memory", flagMemory(c.MemoryBits / 8)}
}

// mostSlides is how many rows a window that slides has, or fewer if they do not divide it.
const mostSlides = 60

// sliding returns the arguments for a window of time that slides.
func (c *config) sliding(from *sizing.Candidate) []string {
	slides := time.Duration(mostSlides)
	for c.Window.Duration%slides != 0 {
		slides--
	}
	slide := c.Window.Duration / slides
	words := []string{"distinct", "--of", c.Element.String(), "--every", c.Window.String(), "--slide", window.Window{Duration: slide}.String()}
	switch from.Method.Name {
	case "sliding-rows":
		return append(words, c.bounds(from, false)...)
	case "exact":
		return append(words, "--method", "exact")
	}
	return nil
}

// bounds returns the arguments for the memory of a candidate and, if fpr is set, for its
// false positive rate.
func (c *config) bounds(from *sizing.Candidate, fpr bool) []string {
	words := []string{"--memory", flagMemory(from.MemoryBits / 8)}
	if fpr {
		words = append(words, "--fpr", fmt.Sprint(c.FPR))
	}
	return words
}

// flagMemory formats a size as --memory accepts it. It rounds up by less than 2 %, so that the
// command has the memory that the prediction is for.
func flagMemory(n int) string {
	switch {
	case n%(1<<20) == 0:
		return fmt.Sprintf("%dMiB", n>>20)
	case n%(1<<10) == 0 || n >= 1<<16:
		return fmt.Sprintf("%dKiB", (n+1<<10-1)>>10)
	}
	return fmt.Sprint(n)
}
