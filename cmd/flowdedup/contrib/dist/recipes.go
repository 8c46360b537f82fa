// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/template"
	"time"
)

// recipeFolder is the folder of recipes in a release, for package managers that build from
// archives.
const recipeFolder = "recipes"

// recipes fills the recipes of contrib with the version, and the addresses and checksums of
// the archives. They need the archives of all platforms.
func (r *release) recipes(platforms []platform) error {
	if len(platforms) != len(all) {
		fmt.Fprintln(os.Stderr, "dist: no recipes, which need all platforms")
		return nil
	}
	sums := map[string]string{}
	main := products[0]
	for _, on := range platforms {
		_, name := r.archive(main, on)
		sum, err := sumOf(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		sums[on.name()] = sum
	}
	return r.fillRecipes(r.contrib(recipeFolder), filepath.Join(r.out, recipeFolder), sums)
}

// errPlatform is the error of a recipe for a platform that has no archive.
var errPlatform = errors.New("no archive for the platform")

// fillRecipes writes the recipes of folder from into folder to. sums are the SHA-256 of the archives
// of the main program, by the names of their platforms.
func (r *release) fillRecipes(from, to string, sums map[string]string) error {
	archives := map[string]string{}
	for _, on := range all {
		_, archives[on.name()] = r.archive(products[0], on)
	}
	functions := template.FuncMap{
		"upper": strings.ToUpper,
		"url": func(name string) (string, error) {
			if archives[name] == "" {
				return "", fmt.Errorf("%w %s", errPlatform, name)
			}
			return homepage + "/releases/download/v" + r.version + "/" + archives[name], nil
		},
		"sum": func(name string) (string, error) {
			if sums[name] == "" {
				return "", fmt.Errorf("%w %s", errPlatform, name)
			}
			return sums[name], nil
		},
	}
	values := map[string]string{
		"Version": r.version, "Plain": plain(r.version), "Homepage": homepage, "License": licence, "Date": r.time.Format(time.DateOnly),
	}
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		recipe, err := template.New(below).Option("missingkey=error").Funcs(functions).Parse(string(text))
		if err != nil {
			return fmt.Errorf("recipe: %w", err)
		}
		var filled bytes.Buffer
		if err := recipe.Execute(&filled, values); err != nil {
			return fmt.Errorf("recipe: %w", err)
		}
		return write(filepath.Join(to, below), filled.Bytes())
	})
}

// plain returns a version of letters, digits, dots and underlines, as Arch Linux wants it.
func plain(version string) string {
	return strings.NewReplacer("~", "_", "+", "_", "-", "_").Replace(version)
}
