// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package request_test

import (
	"regexp"
	"strings"
	"testing"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/cli/request"
	"espalier.dev/internal/testkit/clitest"
)

// sequences colour the text and move the cursor.
var sequences = regexp.MustCompile(`\x1b\[\d*[AJm]`)

// The tree is redrawn in place, so the terminal must not wrap a line of it.
func TestReconcileWaitInANarrowTerminal(t *testing.T) {
	s := set(t)
	terminal := &clitest.Terminal{Width: 40, Height: 20}
	command := clitest.Start(t, s.server, s.namespace, clitest.Call{
		Command: request.NewReconcile, Args: []string{"shop", "--wait"}, Terminal: terminal,
	})
	s.controller.Grant(t, s.root, nextJob)
	s.controller.Adopt(t, s.root, nextJob)
	waits := "waiting for execution shop, 世界世界世界世界世界世界 and more than fits the terminal"
	s.controller.Settle(t, s.root, lsv1alpha1.PhaseProgressing, lsv1alpha1.ReasonWaitingForSubObjects, waits)
	command.Until(t, "Progressing")
	s.controller.Settle(t, s.root, lsv1alpha1.PhaseSucceeded, lsv1alpha1.ReasonSucceeded, "")
	got := command.Wait(t)
	if got.Code != cli.ExitOK || !strings.Contains(got.Stderr, "\x1b[J") {
		t.Fatalf("nothing is redrawn: %+v", got)
	}
	drawn := got.Stderr[:strings.LastIndex(got.Stderr, "\x1b[J")] // What is drawn last stays, in full.
	for line := range strings.Lines(sequences.ReplaceAllString(drawn, "")) {
		if line = strings.TrimSuffix(line, "\n"); display.Width(line) > terminal.Width {
			t.Errorf("%q is %d wide", line, display.Width(line))
		}
	}
}
