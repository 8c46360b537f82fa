package cli

import (
	"math/bits"
	"strings"
	"testing"
)

// TestMemorySizes refuses what the program cannot address, and says so.
func TestMemorySizes(t *testing.T) {
	n, err := ParseMemory("3GiB")
	if bits.UintSize == 64 {
		if err != nil || int64(n) != 3<<30 {
			t.Errorf("%d, %v", n, err)
		}
		return
	}
	if err == nil || !strings.Contains(err.Error(), "32 bits") {
		t.Errorf("%d, %v", n, err)
	}
}
