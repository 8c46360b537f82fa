// SPDX-License-Identifier: Apache-2.0

package chromium

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// root is the top of the clone.
const root = "../../../../.."

// site is the folder that the command browser makes, native the program of this system, and
// chrome the browser.
var site, native, chrome string

func TestMain(m *testing.M) {
	flag.Parse()
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chrome = path
			break
		}
	}
	if chrome == "" {
		fmt.Println("skipped: no chromium")
		return 0, nil
	}
	folder, err := os.MkdirTemp("", "flowdedup-chromium-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	native = filepath.Join(folder, "flowdedup")
	if err := goTool("build", "-o", native, "./cmd/flowdedup"); err != nil {
		return 0, err
	}
	// FLOWDEDUP_BROWSER names a folder that was made before, such as the folder of a release.
	if site, err = filepath.Abs(os.Getenv("FLOWDEDUP_BROWSER")); err != nil {
		return 0, err
	}
	if os.Getenv("FLOWDEDUP_BROWSER") == "" {
		site = filepath.Join(folder, "site")
		if err := goTool("run", "./cmd/flowdedup/contrib/browser", site); err != nil {
			return 0, err
		}
	}
	return m.Run(), nil
}

// goTool runs the go command at the top of the clone.
func goTool(args ...string) error {
	cmd := exec.Command("go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %v: %w\n%s", args, err, out)
	}
	return nil
}

// serve serves the folder as any server of static files does, and returns the address.
func serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.FileServer(http.Dir(site)))
	t.Cleanup(server.Close)
	return server.URL + "/"
}

// capture returns the path of a capture of testdata.
func capture(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(root + "/testdata/pcaps/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// captures returns the paths of the captures of testdata.
func captures(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(root + "/testdata/pcaps/*.pcap*")
	if err != nil || len(all) < 10 {
		t.Fatalf("captures of testdata: %d, %v", len(all), err)
	}
	for i, name := range all {
		all[i] = capture(t, filepath.Base(name))
	}
	return all
}
