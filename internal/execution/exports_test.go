// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package execution_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/execution"
	"espalier.dev/internal/failure"
)

// completed is an execution whose items have all succeeded; the named ones export something.
func completed(t *testing.T, exporters ...string) execution.Snapshot {
	t.Helper()
	e := begun(template("a"), template("b"))
	s := execution.Snapshot{Execution: e, Now: noon}
	for _, name := range []string{"a", "b"} {
		object := stored(t, e, name)
		object.Status.JobID, object.Status.JobIDFinished, object.Status.Phase = job, job, lsv1alpha1.PhaseSucceeded
		for _, exporter := range exporters {
			if exporter == name {
				object.Status.ExportReference = &lsv1alpha1.ObjectReference{Name: "secret-" + name, Namespace: "ns"}
			}
		}
		s.Items = append(s.Items, *object)
	}
	e.Status.Phase, e.Status.ObservedGeneration = lsv1alpha1.PhaseCompleting, e.Generation
	return s
}

func TestWithoutExportsThereIsNothingToReadOrWrite(t *testing.T) {
	o := execution.NewObserved(completed(t))
	d := execution.Decide(o)
	if execution.NeedsExports(o) || len(d.Do) > 0 || d.Next != lsv1alpha1.PhaseSucceeded {
		t.Errorf("observed %+v, decided %+v", o.Export, d)
	}
}

func TestJOB71_ExportsAreCollectedByItem(t *testing.T) {
	s := completed(t, "b")
	o := execution.NewObserved(s)
	if !execution.NeedsExports(o) {
		t.Error("nobody asks for the exports")
	}
	if diff := cmp.Diff(execution.Decision{Wait: true}, execution.Decide(o), unexplained); diff != "" {
		t.Errorf("the decision before they are read (-want +got):\n%s", diff)
	}
	s.ExportsRead, s.Exports = true, map[string][]byte{s.Items[1].Name: []byte("port: 9007199254740993\nnested: {x: [1.5, null]}\n")}
	o = execution.NewObserved(s)
	d := execution.Decide(o)
	writes := effects[execution.WriteExport](d)
	if len(writes) != 1 || writes[0].Update || d.Next != lsv1alpha1.PhaseSucceeded {
		t.Fatalf("decided %+v", d)
	}
	if got := string(writes[0].Object.Data.Raw); got != `{"b":{"nested":{"x":[1.5,null]},"port":9007199254740993}}` {
		t.Errorf("stored %s", got)
	}
	name := dataflow.ExecutionExportName("app")
	e := s.Execution
	execution.Settle(e, execution.After(o, writes[0], nil), d, nil)
	if diff := cmp.Diff(&lsv1alpha1.ObjectReference{Name: name, Namespace: "ns"}, e.Status.ExportReference); writes[0].Object.Name != name ||
		diff != "" {
		t.Errorf("stored as %s: %s", writes[0].Object.Name, diff)
	}

	s.Export = writes[0].Object
	e.Status.Phase, e.Status.JobIDFinished = lsv1alpha1.PhaseCompleting, ""
	if execution.NewObserved(s).Export.Write != nil {
		t.Errorf("exports that are stored are written again")
	}
	s.Exports[s.Items[1].Name] = []byte("{}")
	o = execution.NewObserved(s)
	if writes := effects[execution.WriteExport](execution.Decide(o)); len(writes) != 1 || !writes[0].Update {
		t.Errorf("changed exports: %+v", writes)
	}
}

func TestExportsOfAnEarlierJobAreRemoved(t *testing.T) {
	s := completed(t)
	s.Execution.Status.ExportReference = &lsv1alpha1.ObjectReference{Name: dataflow.ExecutionExportName("app"), Namespace: "ns"}
	o := execution.NewObserved(s)
	d := execution.Decide(o)
	if removed := effects[execution.RemoveExport](d); len(removed) != 1 || removed[0].Name != dataflow.ExecutionExportName("app") {
		t.Errorf("decided %+v", d)
	}
	execution.Settle(s.Execution, o, d, nil)
	if s.Execution.Status.ExportReference != nil {
		t.Error("the status still names them")
	}
}

func TestJOB31_UnusableExportsAreFatalAndNotQuoted(t *testing.T) {
	const secret = "sesame"
	cases := map[string]func(*execution.Snapshot){
		"no Secret":         func(*execution.Snapshot) {},
		"another namespace": func(s *execution.Snapshot) { s.Items[0].Status.ExportReference.Namespace = "other" },
		"no YAML":           func(s *execution.Snapshot) { s.Exports[s.Items[0].Name] = []byte(secret + ": [" + secret) },
		"tabs":              func(s *execution.Snapshot) { s.Exports[s.Items[0].Name] = []byte("a:\n\t" + secret) },
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			s := completed(t, "a")
			s.ExportsRead, s.Exports = true, map[string][]byte{}
			spoil(&s)
			d := execution.Decide(execution.NewObserved(s))
			refused := effects[execution.Refuse](d)
			if len(refused) != 1 || d.Next != lsv1alpha1.PhaseFailed || failure.KindOf(refused[0].Err) != failure.Terminal {
				t.Fatalf("decided %+v", d)
			}
			if text := refused[0].Err.Error(); strings.Contains(text, secret) || !strings.Contains(text, `deploy item "a"`) {
				t.Errorf("it says %q", text)
			}
		})
	}
}

func TestExportsAreReadWhenAllItemsHaveSucceeded(t *testing.T) {
	s := completed(t, "a")
	s.Items[1].Status.JobIDFinished = ""
	if execution.NeedsExports(execution.NewObserved(s)) {
		t.Error("they are read before the last item has finished")
	}
}
