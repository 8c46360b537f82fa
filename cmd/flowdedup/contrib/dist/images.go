package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// images makes an image for each processor that has kernels, as "docker load" and "podman
// load" read it: the program and certificates, and nothing else.
func (r *release) images(platforms []platform) error {
	for _, p := range platforms {
		if p.os != "linux" || p.arch != "amd64" && p.arch != "arm64" {
			continue
		}
		image, err := r.image(p)
		if err != nil {
			return fmt.Errorf("image for %v: %w", p, err)
		}
		tag, err := name.NewTag("flowdedup/flowdedup:" + tagOf(r.version))
		if err != nil {
			return err
		}
		if err := tarball.WriteToFile(filepath.Join(r.out, "flowdedup_"+r.version+"_"+p.name()+"_image.tar"), tag, image); err != nil {
			return fmt.Errorf("image for %v: %w", p, err)
		}
	}
	return nil
}

// tagOf returns a version without what a tag may not hold.
func tagOf(version string) string { return strings.NewReplacer("~", "-", "+", "-").Replace(version) }

// image returns an image of one layer.
func (r *release) image(p platform) (v1.Image, error) {
	content, err := r.layer(p)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil })
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(empty.Image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: r.time}}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, r.config(p, config.DeepCopy()))
}

// config describes how the image runs: as a user without rights, in a folder to mount.
func (r *release) config(p platform, file *v1.ConfigFile) *v1.ConfigFile {
	file.Architecture, file.OS, file.Created = p.arch, p.os, v1.Time{Time: r.time}
	file.Config = v1.Config{
		Entrypoint: []string{"/flowdedup"}, WorkingDir: "/data", User: "65534:65534",
		Labels: map[string]string{
			"org.opencontainers.image.title": "flowdedup", "org.opencontainers.image.version": r.version,
			"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.source": "https://github.com/flowdedup/flowdedup",
		},
	}
	return file
}

// layer returns the files of an image as a tar archive.
func (r *release) layer(p platform) ([]byte, error) {
	program, err := os.ReadFile(r.program(p))
	if err != nil {
		return nil, err
	}
	roots, err := certificates()
	if err != nil {
		return nil, err
	}
	licences, err := os.ReadFile(r.document("doc", "THIRD-PARTY-LICENSES"))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	t := tar.NewWriter(&out)
	for _, f := range []struct {
		name    string
		mode    int64
		content []byte
	}{
		{"data/", 0o777, nil},
		{"tmp/", 0o1777, nil},
		{"etc/ssl/certs/ca-certificates.crt", 0o644, roots},
		{"licences", 0o644, licences},
		{"flowdedup", 0o755, program},
	} {
		if err := t.WriteHeader(&tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.content)), ModTime: r.time, Format: tar.FormatPAX}); err != nil {
			return nil, err
		}
		if _, err := t.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := t.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// certificates returns the roots that Mozilla trusts, as PEM.
func certificates() ([]byte, error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue // a file has no place for it
		}
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
