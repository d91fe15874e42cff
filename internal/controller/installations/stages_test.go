// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"context"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/testkit"
)

// A crash after any write of the continuous flow leaves children that can come to an end: a nested installation whose imports were not
// written yet would wait for its parent, and the parent for it.
func TestWhatIsImportedIsWrittenFirst(t *testing.T) {
	var written []string
	note := func(name string) write {
		return func(context.Context) error {
			written = append(written, name)
			return nil
		}
	}
	sub := func(name string, wire func(*testkit.InstallationBuilder)) wantedSub {
		builder := testkit.Installation("garden", name).Label(lsv1alpha1.EncompassedByLabel, "root")
		wire(builder)
		return wantedSub{name: name, object: builder.Build(), write: note(name)}
	}
	p := &plan{
		states: []write{note("state")}, context: []write{note("target")},
		subs: []wantedSub{
			sub("fruit", func(b *testkit.InstallationBuilder) {
				b.ImportData("flower", "flower").ImportTarget("cluster", "cluster")
			}),
			sub("flower", func(b *testkit.InstallationBuilder) { b.ImportData("root", "root").ExportData("flower", "flower") }),
			sub("root", func(b *testkit.InstallationBuilder) { b.ExportData("root", "root") }),
			sub("egg", func(b *testkit.InstallationBuilder) { b.ImportData("hen", "hen").ExportData("egg", "egg") }),
			sub("hen", func(b *testkit.InstallationBuilder) { b.ImportData("egg", "egg").ExportData("hen", "hen") }),
		},
		execution: &lsv1alpha1.Execution{}, writeExecution: note("execution"),
	}
	sizes := func(flow lsv1alpha1.Flow) (all []int) {
		written = nil
		for _, stage := range p.stages(dataflow.Run{Flow: flow}) {
			all = append(all, len(stage))
			for _, write := range stage {
				if err := write(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		return all
	}
	if diff := cmp.Diff([]int{1, 1, 1, 1, 1, 2, 1}, sizes(lsv1alpha1.FlowContinuous)); diff != "" {
		t.Errorf("stages (-want +got):\n%s", diff)
	}
	if want := []string{"state", "target", "root", "flower", "fruit", "egg", "hen", "execution"}; !slices.Equal(written, want) {
		t.Errorf("written %v, want %v", written, want)
	}
	if diff := cmp.Diff([]int{1, 7}, sizes(lsv1alpha1.FlowJob)); diff != "" {
		t.Errorf("in the job flow, which goes on after a crash whatever its children do (-want +got):\n%s", diff)
	}
}
