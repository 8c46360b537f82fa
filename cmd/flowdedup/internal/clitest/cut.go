// SPDX-License-Identifier: Apache-2.0

package clitest

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"regexp"
	"testing"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/commands"
)

// cutSource delivers the batches of its source in parts of random size, some of them
// empty.
type cutSource struct {
	capture.Source
	rng   *rand.Rand
	whole capture.Batch
	frame int // the first that was not delivered
	block int
}

func (c *cutSource) Next(b *capture.Batch) error {
	b.Reset()
	if c.frame == len(c.whole.Frames) && c.block == len(c.whole.Blocks) {
		c.frame, c.block = 0, 0
		if err := c.Source.Next(&c.whole); err != nil {
			return err
		}
	}
	b.Buf = append(b.Buf, c.whole.Buf...)
	b.Interfaces, b.Sections = c.whole.Interfaces, c.whole.Sections
	from := c.frame
	c.frame += c.rng.IntN(min(len(c.whole.Frames)-from, 1+c.rng.IntN(1000)) + 1)
	b.Frames = append(b.Frames, c.whole.Frames[from:c.frame]...)
	for ; c.block < len(c.whole.Blocks); c.block++ {
		block := c.whole.Blocks[c.block]
		if int(block.Before) > c.frame || int(block.Before) == c.frame && c.rng.IntN(3) == 0 {
			break
		}
		block.Before -= uint32(from)
		b.Blocks = append(b.Blocks, block)
	}
	return nil
}

// RunCut runs a command on batches that end at random; seed 0 keeps the batches of the
// sources.
func RunCut(seed uint64, args ...string) (stdout, stderr string, code int) {
	var out, errs bytes.Buffer
	e := &cli.Env{Stdout: &out, Stderr: &errs}
	if seed > 0 {
		e.Wrap = func(src capture.Source) capture.Source {
			return &cutSource{Source: src, rng: rand.New(rand.NewPCG(seed, 11))}
		}
	}
	root := commands.New(e)
	root.SetArgs(args)
	err := root.ExecuteContext(context.Background())
	e.Report(err)
	return out.String(), errs.String(), e.ExitCode(err)
}

// CutInput is a list of inputs. Its FIFOs are fed anew in each run.
type CutInput struct {
	Names []string
	Fed   map[string][]byte
}

// Feed writes to the FIFOs in pieces, until they are at their end.
func (in *CutInput) Feed(t *testing.T, seed uint64) {
	for name, data := range in.Fed {
		go func() {
			rng := rand.New(rand.NewPCG(seed, 12))
			f, err := os.OpenFile(name, os.O_WRONLY, 0)
			if err != nil {
				t.Error(err)
				return
			}
			defer f.Close()
			for rest := data; len(rest) > 0 && err == nil; {
				n := min(len(rest), 1+rng.IntN(1<<rng.IntN(17)))
				_, err = f.Write(rest[:n])
				rest = rest[n:]
			}
			if err != nil {
				t.Error(err)
			}
		}()
	}
}

// SpentTime is what differs from run to run.
var SpentTime = regexp.MustCompile(`"elapsed_ns":.*|  speed .*`)
