// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package promotions_test

import (
	"flag"
	"testing"

	"espalier.dev/internal/testkit"
)

var (
	full         = flag.Bool("full", false, "run all plans instead of a sample")
	share        = flag.Int("share", 1, "run one of so many plans of the sample")
	budget       = flag.Duration("budget", 0, "begin no more plans after this time; 0 for no limit")
	workloadFlag = flag.String("workload", "merge", "the workload that TestReplay runs")
	planFlag     = flag.String("plan", "", "the plan under which TestReplay runs it; none for an undisturbed run")
	giteaFlag    = flag.Bool("gitea", false, "let TestReplay use a real Gitea")
)

func TestMain(m *testing.M) { testkit.Main(m) }
