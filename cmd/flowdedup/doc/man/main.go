// SPDX-License-Identifier: Apache-2.0

// Command man renders the manual and the help of the commands as man pages: section 1 from the
// flags and texts of the command line, section 7 from the manual's pages for users.
//
//	go run ./cmd/flowdedup/doc/man FOLDER
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// manual is the folder of the pages, relative to the top of the repository.
const manual = "cmd/flowdedup/doc"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./cmd/flowdedup/doc/man FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1], manual); err != nil {
		fmt.Fprintln(os.Stderr, "man:", err)
		os.Exit(1)
	}
}

// write writes all pages into a folder, which it creates.
func write(folder, manual string) error {
	pages, err := userPages(manual)
	if err != nil {
		return err
	}
	texts, err := manualPages(manual, pages)
	if err != nil {
		return err
	}
	for name, text := range commandPages(pages) {
		texts[name] = text
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
			return err
		}
	}
	return nil
}
