// SPDX-License-Identifier: Apache-2.0

package extcap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/cmd/flowdedup/internal/cli"
)

// Command returns the command for Wireshark.
func Command(e *cli.Env) *cobra.Command {
	c := &cobra.Command{
		Use:   "extcap",
		Short: "Show interfaces without duplicates in Wireshark",
		Args:  cli.UnknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newInstall(e))
	return c
}

func newInstall(e *cli.Env) *cobra.Command {
	var folder string
	c := &cobra.Command{
		Use:   "install",
		Short: "Link this program where the installed Wireshark looks for capture programs",
		Long: `install links this program into your own folder of Wireshark's capture programs
(extcap). The versions of Wireshark look in different places, so tshark is
asked for it. A link that leads to another flowdedup is replaced.`,
		Example: `  flowdedup extcap install
  flowdedup extcap install --folder ~/.config/wireshark/extcap`,
		Args: cli.TakesNoArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if folder == "" {
				if folder, err = userFolder(cmd.Context()); err != nil {
					return err
				}
			}
			path, err := link(folder)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(e.Stdout, "%s: Wireshark shows interfaces without duplicates from its next start on\n", path)
			return err
		},
	}
	c.Flags().StringVar(&folder, "folder", "", "`folder` of extcap programs, instead of the one that tshark names")
	return c
}

// errNoTshark is the error where nobody can say which folder it is.
var errNoTshark = errors.New("no tshark here to ask for Wireshark's folder of extcap programs: give --folder; the menu Help, About Wireshark, Folders shows it")

// userFolder asks tshark for the user's folder of extcap programs.
func userFolder(ctx context.Context) (string, error) {
	tshark := "tshark"
	if runtime.GOOS == "darwin" {
		if _, err := exec.LookPath(tshark); err != nil {
			tshark = "/Applications/Wireshark.app/Contents/MacOS/tshark"
		}
	}
	out, err := exec.CommandContext(ctx, tshark, "-G", "folders").Output()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return "", errNoTshark
	}
	if err != nil {
		return "", fmt.Errorf("tshark -G folders: %w", err)
	}
	return personal(string(out))
}

// personal finds the user's folder of extcap programs among the folders that tshark lists. Up
// to version 4.0 tshark does not list it: it is below the folder of settings.
func personal(folders string) (string, error) {
	named := map[string]string{}
	for line := range strings.Lines(folders) {
		name, folder, _ := strings.Cut(line, ":")
		named[strings.ToLower(name)] = strings.TrimSpace(folder)
	}
	if folder := named["personal extcap path"]; folder != "" {
		return folder, nil
	}
	if folder := named["personal configuration"]; folder != "" {
		return filepath.Join(folder, "extcap"), nil
	}
	return "", fmt.Errorf("tshark -G folders names no folder of the user: %w", errors.ErrUnsupported)
}

// link links this program into a folder, which it makes, and returns the path of the
// link. It replaces links, but no files.
func link(folder string) (string, error) {
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	at := filepath.Join(folder, "flowdedup-extcap")
	if info, err := os.Lstat(at); err == nil {
		if info.Mode()&os.ModeSymlink == 0 {
			return "", fmt.Errorf("%s is a file: %w", at, os.ErrExist)
		}
		if err := os.Remove(at); err != nil {
			return "", err
		}
	}
	return at, os.Symlink(program, at)
}
