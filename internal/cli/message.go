// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const (
	messageFlag = "message"
	// earlierMessageFlag is the name that the flag had in some commands. It still works.
	earlierMessageFlag = "reason"
)

// AddMessage gives a command the flag -m, --message for the reason that a user gives. The text says who sees it.
func AddMessage(cmd *cobra.Command, message *string, shown string) {
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if name == earlierMessageFlag {
			name = messageFlag
		}
		return pflag.NormalizedName(name)
	})
	cmd.Flags().StringVarP(message, messageFlag, "m", "", shown)
}
