// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
)

// DryRun is the value of the flag --dry-run.
type DryRun string

// Values of --dry-run.
const (
	NoDryRun     DryRun = "none"
	DryRunClient DryRun = "client"
	DryRunServer DryRun = "server"
)

// AddFlag gives a command the flag. Bare is what it means without a value.
func (d *DryRun) AddFlag(cmd *cobra.Command, bare DryRun, usage string) {
	flags := cmd.Flags()
	flags.StringVar((*string)(d), "dry-run", string(NoDryRun), usage)
	flags.Lookup("dry-run").NoOptDefVal = string(bare)
	choices := []cobra.Completion{string(NoDryRun), string(DryRunClient), string(DryRunServer)}
	if err := cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // The flag is defined above.
	}
}

// Check finds an unknown value.
func (d DryRun) Check() error {
	if !slices.Contains([]DryRun{NoDryRun, DryRunClient, DryRunServer}, d) {
		return fmt.Errorf("unknown dry run %q: --dry-run takes none, client, server", d)
	}
	return nil
}
