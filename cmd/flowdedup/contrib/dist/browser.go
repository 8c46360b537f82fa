// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// browser makes the program for browsers, and packs its folder.
func (r *release) browser([]platform) error {
	licences := r.document("licences", "flowdedup")
	folder := filepath.Join(r.work, "browser")
	if _, err := r.output("go", "run", "./cmd/flowdedup/contrib/browser", "-licences", licences, folder); err != nil {
		return err
	}
	if err := namesCommit(filepath.Join(folder, "flowdedup.wasm.gz"), r.commit); err != nil {
		return err
	}
	list := []entry{
		{"LICENSE", filepath.Join(r.root, "LICENSE"), false},
		{"THIRD-PARTY-LICENSES", licences, false},
	}
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, file := range files {
		list = append(list, entry{file.Name(), filepath.Join(folder, file.Name()), false})
	}
	name := "flowdedup_" + r.version + "_browser"
	return r.zip(filepath.Join(r.out, name+".zip"), name, list)
}

// namesCommit is stamped for WebAssembly, whose build information package buildinfo cannot read.
func namesCommit(name, commit string) error {
	packed, err := os.Open(name)
	if err != nil {
		return err
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	program, err := io.ReadAll(plain)
	if err != nil {
		return err
	}
	if !bytes.Contains(program, []byte("vcs.revision="+commit)) || !bytes.Contains(program, []byte("vcs.modified=false")) {
		return fmt.Errorf("%s: %w %s", filepath.Base(name), errStamp, commit)
	}
	return nil
}
