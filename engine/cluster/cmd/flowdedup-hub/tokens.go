// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/flowdedup/flowdedup/engine/cluster/hub"
)

func oneArg(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usageError{fmt.Errorf("want one %s, got %d arguments", what, len(args))}
		}
		return nil
	}
}

func joinTokenCommand() *cobra.Command {
	var url string
	c := &cobra.Command{
		Use:   "join-token SITE",
		Short: "Print the line that a site joins with",
		Long: `join-token prints one line, the token of a site: flowdedup live --hub TOKEN. It
is a secret, as it holds the key of the site and the key of all digests. The
same site gets the same token each time.`,
		Args: oneArg("site"),
		RunE: func(c *cobra.Command, args []string) error {
			folder, settings, _, err := openOrMake(state(c))
			if err != nil {
				return err
			}
			if url != "" {
				settings.URL = url
			}
			token, err := folder.Join(settings, args[0])
			if err != nil {
				return err
			}
			if err := reload(folder, settings); err != nil {
				return err
			}
			if settings.NATS != "" {
				fmt.Fprintln(c.ErrOrStderr(), "flowdedup-hub: the server at", settings.NATS, "has to know the site: see flowdedup-hub users")
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), token.Encode())
			return err
		},
	}
	c.Flags().StringVar(&url, "url", "", "where the site reaches the server, such as `nats://192.0.2.1:4222`")
	return c
}

func hubTokenCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "hub-token",
		Short: "Print the line with which another hub shares the slices",
		Long: `hub-token prints one line for another machine, which then serves a part of the
slices: flowdedup-hub --join LINE. It is a secret: whoever has it may do all
that this hub may.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			folder, settings, err := hub.OpenFolder(state(c))
			if err != nil {
				return err
			}
			line, err := folder.Invite(settings)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.OutOrStdout(), line)
			return err
		},
	}
}

func removeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "remove SITE",
		Short: "Make the token of a site invalid, and disconnect it",
		Args:  oneArg("site"),
		RunE: func(c *cobra.Command, args []string) error {
			folder, settings, err := hub.OpenFolder(state(c))
			if err != nil {
				return err
			}
			if err := folder.Remove(args[0]); err != nil {
				return err
			}
			return reload(folder, settings)
		},
	}
}

// reload has a running hub take the keys that changed. If none runs, the next hub will. A
// server that is not the hub's own may not know the hub yet.
func reload(folder *hub.Folder, settings hub.Settings) error {
	admin, err := hub.Dial(folder, settings, quiet{})
	if errors.Is(err, hub.ErrSilent) || settings.NATS != "" && errors.Is(err, hub.ErrRefused) {
		return nil
	} else if err != nil {
		return err
	}
	defer admin.Close()
	return admin.Reload()
}

// quiet logs nothing.
type quiet struct{}

func (quiet) Log(string)  {}
func (quiet) Warn(string) {}

func usersCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "users",
		Short: "Print the users for the configuration of an existing NATS server",
		Args:  noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			folder, settings, _, err := openOrMake(state(c))
			if err != nil {
				return err
			}
			text, err := folder.Users(settings)
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(c.OutOrStdout(), text)
			return err
		},
	}
}
