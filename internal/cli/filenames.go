// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/cobra"

// AddFilenames gives a command the flag -f, --filename by which kubectl takes files. The text says what the files contain.
func AddFilenames(cmd *cobra.Command, files *[]string, contents string) {
	cmd.Flags().StringArrayVarP(files, "filename", "f", nil, contents+", or - for standard input; may be repeated")
}
