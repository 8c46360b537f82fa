// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	root := flag.String("root", "../../../..", "top of the clone")
	out := flag.String("out", "../../../../dist", "folder to write; its content is removed")
	only := flag.String("only", "", "make only this platform, such as linux/amd64")
	flag.Parse()
	if err := run(*root, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1)
	}
}

// release is a version of the project.
type release struct {
	root    string // of a clean clone of the commit, in work
	out     string
	work    string // files that are packed, and removed at the end
	version string // without v; 0.0.0 and the commit without a tag
	commit  string
	time    time.Time // of the commit
}

func run(root, out, only string) (err error) {
	platforms := choose(only)
	if len(platforms) == 0 {
		return fmt.Errorf("no platform %s", only)
	}
	work, err := os.MkdirTemp("", "flowdedup-dist-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	r, err := newRelease(root, out, work)
	if err != nil {
		return err
	}
	for _, step := range []func([]platform) error{r.build, r.documents, r.archives, r.browser, r.packages, r.images, r.components, r.recipes, r.checksums} {
		if err := step(platforms); err != nil {
			return err
		}
	}
	return r.list(os.Stdout)
}

// newRelease reads the version of a clone, and makes the folders. The release is made of the
// commit, in a clone of its own: nothing that is not committed gets into it, and Go stamps
// programs in a clone, but not in a worktree.
func newRelease(root, out, work string) (*release, error) {
	r := &release{work: work, root: filepath.Join(work, "source")}
	var err error
	if root, err = filepath.Abs(root); err != nil {
		return nil, err
	}
	if r.out, err = filepath.Abs(out); err != nil {
		return nil, err
	}
	if err := r.clone(root); err != nil {
		return nil, err
	}
	described, err := r.output("git", "describe", "--tags", "--always", "--match", "v[0-9]*", "--abbrev=12")
	if err != nil {
		return nil, err
	}
	if r.commit, err = r.output("git", "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	seconds, err := r.output("git", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("time of the commit: %w", err)
	}
	r.time = time.Unix(unix, 0).UTC()
	r.version = versionOf(described, r.time)
	if err := os.RemoveAll(r.out); err != nil {
		return nil, err
	}
	return r, os.MkdirAll(r.out, 0o755)
}

// clone makes the clone in which the release is built, and reports files that are not
// committed.
func (r *release) clone(from string) error {
	changed, err := exec.Command("git", "-C", from, "status", "--porcelain").Output()
	if err != nil {
		return fmt.Errorf("git status in %s: %w", from, err)
	}
	if n := strings.Count(string(changed), "\n"); n > 0 {
		fmt.Fprintf(os.Stderr, "dist: %d changed files are not committed, and not in the release\n", n)
	}
	if out, err := exec.Command("git", "clone", "-q", from, r.root).CombinedOutput(); err != nil {
		return fmt.Errorf("git clone %s: %w: %s", from, err, out)
	}
	return nil
}

// versionOf returns the version of packages: the tag with the number of commits after it, or
// without a tag 0.0.0 with date and commit.
func versionOf(described string, at time.Time) string {
	tag, isTag := strings.CutPrefix(described, "v")
	if !isTag {
		return "0.0.0~" + at.Format("20060102") + "." + described
	}
	return strings.ReplaceAll(tag, "-", "+")
}

// output runs a command at the top of the clone, and returns its output.
func (r *release) output(name string, args ...string) (string, error) {
	return r.outputIn(".", name, args...)
}

// outputIn runs a command in a folder of the clone, and returns its output.
func (r *release) outputIn(folder, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Stderr = filepath.Join(r.root, folder), os.Stderr
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath", "SOURCE_DATE_EPOCH="+strconv.FormatInt(r.time.Unix(), 10))
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(text)), nil
}

// list prints the files with their sizes and checksums.
func (r *release) list(w io.Writer) error {
	sums, err := os.ReadFile(filepath.Join(r.out, checksumFile))
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(sums)) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		info, err := os.Stat(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%12d  %s  %s\n", info.Size(), sum, name); err != nil {
			return err
		}
	}
	return nil
}

// platform is an operating system and an architecture.
type platform struct {
	os, arch string
	arm      string // GOARM
}

func (p platform) String() string { return p.os + "/" + p.arch }

// name is the part of a file's name.
func (p platform) name() string { return p.os + "_" + p.arch + p.arm }

// all are the platforms of a release. Kernels in assembly run on amd64 and arm64.
var all = []platform{
	{os: "linux", arch: "amd64"}, {os: "linux", arch: "arm64"}, {os: "linux", arch: "arm", arm: "7"},
	{os: "linux", arch: "riscv64"}, {os: "linux", arch: "s390x"},
	{os: "darwin", arch: "amd64"}, {os: "darwin", arch: "arm64"}, {os: "windows", arch: "amd64"},
}

// choose returns the platforms to make; "" stands for all.
func choose(only string) []platform {
	return slices.DeleteFunc(slices.Clone(all), func(p platform) bool { return only != "" && only != p.String() })
}
