// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/show"
)

// parseLink reads the speed of a link in bits a second: 10Gb/s, 100Mbit/s, 10G.
func parseLink(s string) (float64, error) {
	digits := s
	for _, unit := range []string{"bit/s", "b/s", "bps"} {
		digits = strings.TrimSuffix(digits, unit)
	}
	n, err := cli.ParseAmount(digits)
	if err != nil {
		return 0, fmt.Errorf("must be a speed such as 10Gb/s or 100Mb/s")
	}
	return n, nil
}

// parseBits reads a memory as cli.ParseMemory does, or a number of bits as papers state it,
// such as 48bit or 16kbit. It returns bits.
func parseBits(s string) (int, error) {
	if digits, found := strings.CutSuffix(s, "bit"); found {
		n, err := cli.ParseAmount(digits)
		if err != nil || n < 1 || n > maxBits {
			return 0, fmt.Errorf("must be a number of bits from 1 to %d, such as 48bit or 16kbit", maxBits)
		}
		return int(n), nil
	}
	n, err := cli.ParseMemory(s)
	if err != nil {
		return 0, fmt.Errorf("%w, or a number of bits such as 48bit or 16kbit", err)
	}
	if n > maxBits/8 {
		return 0, fmt.Errorf("must be at most %s", show.Bytes(int64(maxBits)/8))
	}
	return 8 * n, nil
}

// maxBits is the largest memory to plan for: 8 TiB, less on 32-bit machines.
const maxBits = min(1<<46, math.MaxInt)

// parseDistinct reads a share, 60% or 0.6, or a number above 1, 3M.
func parseDistinct(s string) (distinct, error) {
	if share, err := cli.ParseShare(s); err == nil {
		return distinct{Share: share}, nil
	}
	n, err := cli.ParseAmount(s)
	if err != nil || n < 1 {
		return distinct{}, errors.New("must be a share such as 60% or 0.6, or a number such as 250000 or 3M")
	}
	return distinct{Count: n}, nil
}
