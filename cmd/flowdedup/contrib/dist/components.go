// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	classifier "github.com/google/licenseclassifier/v2"
	"github.com/google/licenseclassifier/v2/assets"
)

// components writes the list of each program's components, as CycloneDX 1.6 in JSON: the
// modules with their licences and hashes, and the hash of the program for each platform.
func (r *release) components(platforms []platform) error {
	known, err := assets.DefaultClassifier()
	if err != nil {
		return err
	}
	for _, p := range products {
		bom, err := r.bom(p, platforms, known)
		if err != nil {
			return fmt.Errorf("components of %s: %w", p.name, err)
		}
		if err := create(filepath.Join(r.out, p.name+"_"+r.version+".cdx.json"), func(w io.Writer) error {
			return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
		}); err != nil {
			return err
		}
	}
	return nil
}

// bom returns the list of a product.
func (r *release) bom(p *product, platforms []platform, known *classifier.Classifier) (*cdx.BOM, error) {
	modules, err := r.modules(p)
	if err != nil {
		return nil, err
	}
	var parts []cdx.Component
	var refs []string
	for _, m := range modules {
		part, err := component(known, m)
		if err != nil {
			return nil, err
		}
		parts, refs = append(parts, part), append(refs, part.BOMRef)
	}
	programs, err := r.programs(p, platforms)
	if err != nil {
		return nil, err
	}
	self := "pkg:golang/" + p.path() + "@v" + r.version
	bom := cdx.NewBOM()
	bom.SerialNumber = r.serial(p)
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.time.Format(time.RFC3339),
		Component: &cdx.Component{
			Type: cdx.ComponentTypeApplication, BOMRef: self, Name: p.name, Version: r.version, PackageURL: self,
			Description: capital(p.summary), Licenses: licencesNamed(licence), Components: &programs,
		},
	}
	bom.Components, bom.Dependencies = &parts, &[]cdx.Dependency{{Ref: self, Dependencies: &refs}}
	return bom, nil
}

// component describes a module. Its hash is the hash in go.sum: the SHA-256 of the list of the
// SHA-256 of its files (golang.org/x/mod/sumdb/dirhash). Go's library has none.
func component(known *classifier.Classifier, m module) (cdx.Component, error) {
	_, licences, err := licencesOf(known, m)
	if err != nil {
		return cdx.Component{}, err
	}
	url := "pkg:golang/" + m.Path + "@" + m.Version
	if strings.HasPrefix(m.Version, "go") {
		url = "pkg:golang/std@" + strings.TrimPrefix(m.Version, "go")
	}
	c := cdx.Component{
		Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: m.Path, Version: m.Version, PackageURL: url,
		Scope: cdx.ScopeRequired, Licenses: licencesNamed(licences...),
	}
	if m.Sum == "" {
		return c, nil
	}
	digits, isHash := strings.CutPrefix(m.Sum, "h1:")
	sum, err := base64.StdEncoding.DecodeString(digits)
	if err != nil || !isHash || len(sum) != sha256.Size {
		return c, fmt.Errorf("%s: the hash %q of go.sum is none", m.Path, m.Sum)
	}
	c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	return c, nil
}

func licencesNamed(names ...string) *cdx.Licenses {
	list := cdx.Licenses{}
	for _, name := range names {
		list = append(list, cdx.LicenseChoice{License: &cdx.License{ID: name}})
	}
	return &list
}

// programs returns the program of each platform, with its hash.
func (r *release) programs(p *product, platforms []platform) (list []cdx.Component, err error) {
	for _, on := range platforms {
		if !p.runsOn(on) {
			continue
		}
		sum, err := sumOf(r.program(p, on))
		if err != nil {
			return nil, err
		}
		folder, _ := r.archive(p, on)
		list = append(list, cdx.Component{
			Type: cdx.ComponentTypeFile, BOMRef: folder, Name: folder + "/" + p.file(on), Version: r.version,
			Hashes: &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}},
		})
	}
	return list, nil
}

// serial returns a UUID (RFC 9562, version 8) that follows from the commit.
func (r *release) serial(p *product) string {
	id := sha256.Sum256([]byte(p.name + " " + r.commit))
	id[6], id[8] = id[6]&0x0f|0x80, id[8]&0x3f|0x80
	return fmt.Sprintf("urn:uuid:%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:16])
}
