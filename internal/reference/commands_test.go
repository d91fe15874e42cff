// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Only commands that connect to a cluster have the connection flags. A flag of the same name can mean something else.
func TestConnectionFlagsAreThoseOfCommandsThatConnect(t *testing.T) {
	run := func(*cobra.Command, []string) {}
	up := &cobra.Command{Use: "up", Short: "Start a cluster", Run: run}
	up.Flags().String("kubeconfig", "", "add the new cluster to this `file`")
	get := &cobra.Command{Use: "get", Short: "List objects", Run: run}
	get.Flags().String("kubeconfig", "", "kubeconfig to use")
	get.Flags().String("context", "", "context to use")
	root := &cobra.Command{Use: "espalier"}
	root.AddCommand(up, get)
	page, err := CommandsPage(root, nil)
	if err != nil {
		t.Fatal(err)
	}
	const link, row = "It also has the [connection flags](#connection-flags).", "| `--kubeconfig` | file |  | add the new cluster to this file |"
	_, ofUp, found := strings.Cut(page, "\n## espalier up\n")
	if !found || strings.Contains(ofUp, link) || !strings.Contains(ofUp, row) {
		t.Errorf("up is described as %q", ofUp)
	}
	_, rest, found := strings.Cut(page, "\n## espalier get\n")
	if ofGet, _, _ := strings.Cut(rest, "\n## "); !found || !strings.Contains(ofGet, link) || strings.Contains(ofGet, "--kubeconfig") {
		t.Errorf("get is described as %q", ofGet)
	}
}
