// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// images makes images of each product, for the processors that have kernels: one file for each,
// as "docker load" and "podman load" read it, and an OCI layout with all of them. An image has
// the program and certificates, and nothing else.
func (r *release) images(platforms []platform) error {
	for _, p := range products {
		index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
		made := 0
		for _, on := range platforms {
			if on.os != "linux" || on.arch != "amd64" && on.arch != "arm64" {
				continue
			}
			image, err := r.image(p, on)
			if err != nil {
				return fmt.Errorf("image of %s for %v: %w", p.name, on, err)
			}
			tag, err := name.NewTag("flowdedup/" + p.name + ":" + tagOf(r.version))
			if err != nil {
				return err
			}
			if err := tarball.WriteToFile(filepath.Join(r.out, p.name+"_"+r.version+"_"+on.name()+"_image.tar"), tag, image); err != nil {
				return fmt.Errorf("image of %s for %v: %w", p.name, on, err)
			}
			oci := mutate.ConfigMediaType(mutate.MediaType(image, types.OCIManifestSchema1), types.OCIConfigJSON)
			index = mutate.AppendManifests(index, mutate.IndexAddendum{
				Add:        mutate.Annotations(oci, r.labels(p)).(v1.Image),
				Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: on.os, Architecture: on.arch}},
			})
			made++
		}
		if made == 0 {
			continue
		}
		if err := r.layout(p, mutate.Annotations(index, r.labels(p)).(v1.ImageIndex)); err != nil {
			return fmt.Errorf("OCI layout of %s: %w", p.name, err)
		}
	}
	return nil
}

// layout packs an index as an OCI layout (image-spec 1.1), which names it by the version.
func (r *release) layout(p *product, index v1.ImageIndex) error {
	folder := filepath.Join(r.work, "layout", p.name)
	path, err := layout.Write(folder, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": tagOf(r.version)})); err != nil {
		return err
	}
	var entries []entry
	if err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(folder, file)
		entries = append(entries, entry{name: filepath.ToSlash(below), from: file})
		return err
	}); err != nil {
		return err
	}
	return create(filepath.Join(r.out, p.name+"_"+r.version+"_image.oci.tar"), func(w io.Writer) error { return r.fill(w, "", entries) })
}

// tagOf returns a version without characters that a tag may not hold.
func tagOf(version string) string { return strings.NewReplacer("~", "-", "+", "-").Replace(version) }

// image returns an image of one layer.
func (r *release) image(p *product, on platform) (v1.Image, error) {
	content, err := r.layer(p, on)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image, err := mutate.Append(empty.Image, mutate.Addendum{Layer: layer, MediaType: types.OCILayer, History: v1.History{Created: v1.Time{Time: r.time}}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, r.config(p, on, config.DeepCopy()))
}

// config describes how the image runs: as a user without rights, in a folder to mount.
func (r *release) config(p *product, on platform, file *v1.ConfigFile) *v1.ConfigFile {
	file.Architecture, file.OS, file.Created = on.arch, on.os, v1.Time{Time: r.time}
	file.Config = v1.Config{
		Entrypoint: []string{"/" + p.name}, WorkingDir: "/data", User: "65534:65534", Env: p.env, Labels: r.labels(p),
	}
	for _, port := range p.ports {
		if file.Config.ExposedPorts == nil {
			file.Config.ExposedPorts = map[string]struct{}{}
		}
		file.Config.ExposedPorts[port] = struct{}{}
	}
	return file
}

// labels describe an image: https://specs.opencontainers.org/image-spec/annotations.
func (r *release) labels(p *product) map[string]string {
	const prefix = "org.opencontainers.image."
	return map[string]string{
		prefix + "title": p.name, prefix + "description": capital(p.summary), prefix + "version": r.version,
		prefix + "revision": r.commit, prefix + "created": r.time.Format(time.RFC3339), prefix + "licenses": licence,
		prefix + "source": homepage, prefix + "url": homepage, prefix + "documentation": p.documentation, prefix + "vendor": "The authors of flowdedup",
	}
}

// layer returns the files of an image as a tar archive.
func (r *release) layer(p *product, on platform) ([]byte, error) {
	program, err := os.ReadFile(r.program(p, on))
	if err != nil {
		return nil, err
	}
	roots, err := certificates()
	if err != nil {
		return nil, err
	}
	licences, err := os.ReadFile(r.document("licences", p.name))
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
		{p.name, 0o755, program},
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
