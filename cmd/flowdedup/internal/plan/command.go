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
	if from.Bits == 0 {
		return nil
	}
	words := []string{"flowdedup", "distinct", "--of", c.Element.String(), "--every", c.Window.String()}
	if c.Element.Packets {
		words = []string{"flowdedup", "dedup", "--window", c.Window.String()}
	}
	if c.Refresh {
		words = append(words, "--refresh")
	}
	if !c.Element.Packets && c.kind == sizing.Sliding {
		words = append(words, "--slide", window.Window{Duration: slideOf(c.Window.Duration)}.String())
	}
	text := strings.Join(append(words, c.method(from)...), " ")
	return &text
}

// method returns the arguments for a candidate's method, its memory and its false positive rate.
func (c *config) method(from *sizing.Candidate) (words []string) {
	memory, fpr := []string{"--memory", flagMemory(from.Bits / 8)}, 0.0
	switch name := from.Method.Name; name {
	case "timed":
		if c.FPR < engine.DefaultFPR {
			fpr = c.FPR
		}
	case "sliding-rows":
	case "exact-rows", "digest-rows":
		memory = c.growthBound(from)
	case "exact":
		words, memory = []string{"--method", name}, nil
	case "bloom-lines":
		words, fpr = []string{"--method", "bloom"}, cmp.Or(c.FPR, engine.DefaultFPR)
	case "lru":
		words, fpr = []string{"--method", name}, c.FPR
	case "sbf":
		words = []string{"--method", name, "--param", params(from).String()}
	default: // coarse, fine
		words = []string{"--method", name}
	}
	if words = append(words, memory...); fpr != 0 {
		words = append(words, "--fpr", fmt.Sprint(fpr))
	}
	return words
}

// params returns the parameters of a candidate that --param takes. The others follow from
// the memory.
func params(from *sizing.Candidate) method.Params {
	all := method.Params{}
	for name, value := range from.Parameters {
		if name = strings.ReplaceAll(name, " ", "-"); method.HasParam(from.Method.Name, name) {
			all[name] = float64(value)
		}
	}
	return all
}

// growthBound returns --memory of the question for rows that grow as needed. While rows
// double, the old rows of half the size take memory, too. With less memory, counters would
// sample keys, so there is no bound.
func (c *config) growthBound(from *sizing.Candidate) []string {
	if c.MemoryBits < from.Bits+from.Bits/2 {
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
