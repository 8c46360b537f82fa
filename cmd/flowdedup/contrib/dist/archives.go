// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// entry is a file of an archive.
type entry struct {
	name, from string
	program    bool
}

// entries returns the content of a product's archive, below a folder.
func (r *release) entries(p *product, on platform) ([]entry, error) {
	list := []entry{
		{p.file(on), r.program(p, on), true},
		{"LICENSE", filepath.Join(r.root, "LICENSE"), false},
		{"THIRD-PARTY-LICENSES", r.document("licences", p.name), false},
	}
	if p.name == "flowdedup" && on.os == "linux" { // it has programs for the kernel
		list = append(list, entry{"LICENSE.BSD-2-Clause", filepath.Join(r.root, "capture/xdp/LICENSE.BSD-2-Clause"), false})
	}
	if on.os == "windows" {
		return list, nil
	}
	pages, err := r.pages(p)
	if err != nil {
		return nil, err
	}
	for _, page := range pages {
		list = append(list, entry{"man/" + filepath.Base(page), page, false})
	}
	for _, shell := range shells {
		list = append(list, entry{"completion/" + shell, r.document("completion", p.name, shell), false})
	}
	if on.os == "linux" {
		units, err := r.units(p)
		if err != nil {
			return nil, err
		}
		for _, unit := range units {
			list = append(list, entry{"systemd/" + filepath.Base(unit), unit, false})
		}
	}
	return list, nil
}

// archives packs each program with its manual: tar.gz, and zip for Windows.
func (r *release) archives(platforms []platform) error {
	return r.each(platforms, func(p *product, on platform) error {
		entries, err := r.entries(p, on)
		if err != nil {
			return err
		}
		pack := r.tar
		if on.os == "windows" {
			pack = r.zip
		}
		folder, name := r.archive(p, on)
		return pack(filepath.Join(r.out, name), folder, entries)
	})
}

// archive returns the names of the archive of a product, and of the folder in it.
func (r *release) archive(p *product, on platform) (folder, name string) {
	folder = p.name + "_" + r.version + "_" + on.name()
	if on.os == "windows" {
		return folder, folder + ".zip"
	}
	return folder, folder + ".tar.gz"
}

func (r *release) tar(name, folder string, entries []entry) error {
	return compressed(name, func(w io.Writer) error { return r.fill(w, folder+"/", entries) })
}

// fill writes entries as a tar archive, with a prefix before their names.
func (r *release) fill(w io.Writer, prefix string, entries []entry) error {
	t := tar.NewWriter(w)
	for _, e := range entries {
		content, err := os.ReadFile(e.from)
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{
			Name: prefix + e.name, Size: int64(len(content)), Mode: int64(e.mode()), ModTime: r.time, Format: tar.FormatPAX,
		}); err != nil {
			return err
		}
		if _, err := t.Write(content); err != nil {
			return err
		}
	}
	return t.Close()
}

func (r *release) zip(name, folder string, entries []entry) error {
	return create(name, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, e := range entries {
			content, err := os.ReadFile(e.from)
			if err != nil {
				return err
			}
			head := &zip.FileHeader{Name: folder + "/" + e.name, Method: zip.Deflate, Modified: r.time}
			head.SetMode(e.mode())
			to, err := z.CreateHeader(head)
			if err != nil {
				return err
			}
			if _, err := to.Write(content); err != nil {
				return err
			}
		}
		return z.Close()
	})
}

func (e entry) mode() os.FileMode {
	if e.program {
		return 0o755
	}
	return 0o644
}

// checksumFile lists the SHA-256 of all files, as sha256sum -c reads it.
const checksumFile = "SHA256SUMS"

// checksums writes the list.
func (r *release) checksums([]platform) error {
	var files []string
	err := filepath.WalkDir(r.out, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		return err
	}
	slices.Sort(files)
	var list strings.Builder
	for _, name := range files {
		sum, err := sumOf(name)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(r.out, name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, filepath.ToSlash(below))
	}
	return os.WriteFile(filepath.Join(r.out, checksumFile), []byte(list.String()), 0o644)
}

// sumOf returns the SHA-256 of a file, in hexadecimal digits.
func sumOf(name string) (string, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}
