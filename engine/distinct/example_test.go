package distinct_test

import (
	"fmt"
	"log"

	"github.com/flowdedup/flowdedup/engine/distinct"
	"github.com/flowdedup/flowdedup/engine/secret"
)

// Distinct IPv4 addresses, exactly.
func Example() {
	key, err := secret.Random()
	if err != nil {
		log.Fatal(err)
	}
	counter, err := distinct.NewIPv4Rows(key.AESKey(secret.Permutation), 1<<20)
	if err != nil {
		log.Fatal(err)
	}
	defer counter.Close()
	seen := make([]uint64, 1) // a bit for each address
	counter.TestAndSet(seen, []uint32{0x0a000001, 0x0a000002, 0x0a000001})
	fmt.Printf("%d addresses, %03b came before\n", counter.Counts().Distinct, seen[0])
	// Output: 2 addresses, 100 came before
}
