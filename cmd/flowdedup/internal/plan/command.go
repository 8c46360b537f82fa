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
	"github.com/flowdedup/flowdedup/engine/window"
)

// command returns the command line that runs a candidate, nil if it does not fit into the memory.
func (c *config) command(from *sizing.Candidate) *string {
	if from.MemoryBits == 0 {
		return nil
	}
	words := c.distinct(from)
	if c.Element.Packets {
		words = c.dedup(from)
	}
	text := "flowdedup " + strings.Join(words, " ")
	return &text
}

func (c *config) dedup(from *sizing.Candidate) []string {
	words := []string{"dedup", "--window", c.Window.String()}
	if c.Refresh {
		words = append(words, "--refresh")
	}
	if from.Method.Name == "timed" {
		return append(words, c.bounds(from, c.FPR != 0 && c.FPR < engine.DefaultFPR)...)
	}
	words = append(words, "--method", from.Method.Name)
	switch from.Method.Name {
	case "exact":
		return words
	case "sbf":
		words = append(words, "--param", params(from).String())
	}
	return append(words, c.bounds(from, from.Method.Name == "lru" && c.FPR != 0)...)
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
	if c.slides() {
		words = append(words, "--slide", window.Window{Duration: slideOf(c.Window.Duration)}.String())
	}
	switch from.Method.Name {
	case "exact-rows", "digest-rows":
		return append(words, c.growthBound(from)...)
	case "sliding-rows":
		return append(words, c.bounds(from, false)...)
	case "bloom-lines":
		words = append(words, "--method", "bloom")
		words = append(words, c.bounds(from, false)...)
		return append(words, "--fpr", fmt.Sprint(cmp.Or(c.FPR, engine.DefaultFPR)))
	case "lru":
		words = append(words, "--method", "lru")
		return append(words, c.bounds(from, c.FPR != 0)...)
	}
	return append(words, "--method", "exact")
}

// growthBound returns --memory of the question for rows that grow as needed. While rows
// double, the old rows of half the size take memory, too. With less memory, counters would
// sample keys, so there is no bound.
func (c *config) growthBound(from *sizing.Candidate) []string {
	if c.MemoryBits < from.MemoryBits+from.MemoryBits/2 {
		return nil
	}
	return []string{"--memory", flagMemory(c.MemoryBits / 8)}
}

// mostSlides is how many rows a window that slides has, or fewer if they do not divide it.
const mostSlides = 60

// slideOf returns the distance of the rows of a window of time that slides.
func slideOf(length time.Duration) time.Duration {
	slides := time.Duration(mostSlides)
	for length%slides != 0 {
		slides--
	}
	return length / slides
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
