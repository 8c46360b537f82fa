// SPDX-License-Identifier: Apache-2.0

package compressed_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"log"

	"github.com/flowdedup/flowdedup/capture/compressed"
)

// A reader of what is inside, whether it is compressed or not.
func Example() {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte("a capture")); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	for _, input := range []io.Reader{&packed, bytes.NewReader([]byte("another"))} {
		r, head, err := compressed.NewReader(input)
		if err != nil {
			log.Fatal(err)
		}
		rest, err := io.ReadAll(r)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s, compressed: %v\n", append(head, rest...), r.Compressed())
		r.Close()
	}
	// Output:
	// a capture, compressed: true
	// another, compressed: false
}
