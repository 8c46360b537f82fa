package main

import (
	"archive/tar"
	"archive/zip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
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

// entries returns what an archive holds, below one folder.
func (r *release) entries(p platform) ([]entry, error) {
	list := []entry{
		{p.program(), r.program(p), true},
		{"LICENSE", filepath.Join(r.root, "LICENSE"), false},
		{"THIRD-PARTY-LICENSES", r.document("doc", "THIRD-PARTY-LICENSES"), false},
	}
	if p.os != "windows" {
		for _, folder := range []string{"man", "completion"} {
			files, err := filepath.Glob(r.document(folder, "*"))
			if err != nil {
				return nil, err
			}
			for _, f := range files {
				list = append(list, entry{folder + "/" + filepath.Base(f), f, false})
			}
		}
	}
	return list, nil
}

// archives packs the program of each platform with its manual: tar.gz, and zip for Windows.
func (r *release) archives(platforms []platform) error {
	for _, p := range platforms {
		entries, err := r.entries(p)
		if err != nil {
			return err
		}
		folder := "flowdedup_" + r.version + "_" + p.name()
		pack, ending := r.tar, ".tar.gz"
		if p.os == "windows" {
			pack, ending = r.zip, ".zip"
		}
		if err := pack(filepath.Join(r.out, folder+ending), folder, entries); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) tar(name, folder string, entries []entry) error {
	return compressed(name, func(w io.Writer) error {
		t := tar.NewWriter(w)
		for _, e := range entries {
			content, err := os.ReadFile(e.from)
			if err != nil {
				return err
			}
			if err := t.WriteHeader(&tar.Header{
				Name: folder + "/" + e.name, Size: int64(len(content)), Mode: int64(e.mode()), ModTime: r.time, Format: tar.FormatPAX,
			}); err != nil {
				return err
			}
			if _, err := t.Write(content); err != nil {
				return err
			}
		}
		return t.Close()
	})
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
	files, err := filepath.Glob(filepath.Join(r.out, "*"))
	if err != nil {
		return err
	}
	slices.Sort(files)
	var list strings.Builder
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(content)
		fmt.Fprintf(&list, "%s  %s\n", hex.EncodeToString(sum[:]), filepath.Base(name))
	}
	return os.WriteFile(filepath.Join(r.out, checksumFile), []byte(list.String()), 0o644)
}
