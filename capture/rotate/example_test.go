// SPDX-License-Identifier: Apache-2.0

package rotate_test

import (
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/flowdedup/flowdedup/capture"
	"github.com/flowdedup/flowdedup/capture/pcapfile"
	"github.com/flowdedup/flowdedup/capture/rotate"
)

// A capture becomes files of a second each.
func Example() {
	folder, err := os.MkdirTemp("", "rotate")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	src, err := pcapfile.Open("../../testdata/pcaps/router-plain.pcapng", pcapfile.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer src.Close()
	w, err := rotate.New(filepath.Join(folder, "part.pcapng"), rotate.Options{
		Every:     time.Second,
		Completed: func(name string, packets uint64) { fmt.Println(filepath.Base(name), packets) },
	})
	if err != nil {
		log.Fatal(err)
	}
	var b capture.Batch
	for {
		err := src.Next(&b)
		if err == io.EOF {
			break
		}
		if err == nil {
			err = w.Write(&b, nil)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// part-20261121T060659.602Z.pcapng 238
	// part-20261121T060700.074Z.pcapng 298
	// part-20261121T060701.175Z.pcapng 64
	// part-20261121T060702.021Z.pcapng 12
}
