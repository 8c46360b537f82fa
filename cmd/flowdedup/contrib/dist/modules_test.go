// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/modfile"
	gomod "golang.org/x/mod/module"
	"golang.org/x/mod/zip"
)

// top is the top of the clone, and hubModule the folder of the hub's module in it.
const (
	top       = "../../../.."
	hubModule = "engine/cluster"
)

// next returns the version that comes next.
func next(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("version")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestRequired wants the hub to require the version of the root that comes next, without a
// replacement in go.mod, which "go install" refuses; go.work has this clone stand for it.
func TestRequired(t *testing.T) {
	version := next(t)
	name := filepath.Join(top, hubModule, "go.mod")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	mod, err := modfile.Parse(name, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(mod.Replace) > 0 {
		t.Errorf("go.mod replaces %s", mod.Replace[0].Old.Path)
	}
	required := ""
	for _, r := range mod.Require {
		if r.Mod.Path == mainModule {
			required = r.Mod.Version
		}
	}
	if required != version {
		t.Errorf("go.mod requires %q of the root, and %s comes next", required, version)
	}
	name = filepath.Join(top, hubModule, "go.work")
	if text, err = os.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	work, err := modfile.ParseWork(name, text, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(work.Replace) != 1 || work.Replace[0].Old != (gomod.Version{Path: mainModule, Version: version}) || work.Replace[0].New.Path != "../.." {
		t.Errorf("go.work replaces %+v", work.Replace)
	}
}

// TestInstall installs both programs by "go install" as of the next version, from a proxy of
// files that has the last commit under that version.
func TestInstall(t *testing.T) {
	if testing.Short() {
		t.Skip("builds both programs: minutes")
	}
	version, proxy := next(t), t.TempDir()
	clone := filepath.Join(t.TempDir(), "clone") // in a worktree of git there is no zip to make
	command(t, "git", "clone", "-q", top, clone)
	for _, folder := range []string{"", hubModule} {
		path := strings.TrimSuffix(mainModule+"/"+folder, "/")
		offer(t, clone, filepath.Join(proxy, path, "@v"), gomod.Version{Path: path, Version: version}, folder)
	}
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	old, err := exec.Command("go", "env", "GOPROXY").Output()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	env := append(os.Environ(), "GOBIN="+bin, "GOFLAGS=-modcacherw", "CGO_ENABLED=0", "GONOSUMDB="+mainModule+"/*,"+mainModule,
		// A cache of its own, so that no version that was never released stays behind.
		"GOMODCACHE="+filepath.Join(t.TempDir(), "mod"),
		fmt.Sprintf("GOPROXY=file://%s,file://%s/cache/download,%s", proxy, strings.TrimSpace(string(cache)), strings.TrimSpace(string(old))))
	for program, at := range map[string]string{"flowdedup": "/cmd/flowdedup", "flowdedup-hub": "/engine/cluster/cmd/flowdedup-hub"} {
		install := exec.Command("go", "install", "-trimpath", mainModule+at+"@"+version)
		install.Env, install.Dir = env, t.TempDir()
		if out, err := install.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v: %s", program, err, out)
		}
		if out := command(t, filepath.Join(bin, program), "version"); !strings.HasPrefix(out, program+" "+version+" ") {
			t.Errorf("%s: %s", program, out)
		}
	}
}

// offer writes a proxy's files for a version of a module, the last commit of a clone
// (go.dev/ref/mod#goproxy-protocol).
func offer(t *testing.T, root, to string, version gomod.Version, folder string) {
	t.Helper()
	if err := create(filepath.Join(to, version.Version+".zip"), func(w io.Writer) error { return zip.CreateFromVCS(w, version, root, "HEAD", folder) }); err != nil {
		t.Fatal(err)
	}
	mod := command(t, "git", "-C", root, "show", "HEAD:"+strings.TrimPrefix(folder+"/go.mod", "/"))
	info, err := json.Marshal(map[string]any{"Version": version.Version, "Time": time.Unix(0, 0).UTC()})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{version.Version + ".mod": []byte(mod), version.Version + ".info": info, "list": []byte(version.Version + "\n")} {
		if err := write(filepath.Join(to, name), text); err != nil {
			t.Fatal(err)
		}
	}
}
