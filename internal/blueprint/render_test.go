// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package blueprint

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/failure"
)

// inputOf is an installation without imports.
func inputOf(t *testing.T, e *Engine, f Files) Input {
	t.Helper()
	b, err := e.Parse(f)
	if err != nil {
		t.Fatal(err)
	}
	inst := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "tree"}}
	return Input{Subject: Subject{Blueprint: b}, Installation: inst, Scope: dataflow.Scope{Namespace: "garden"}}
}

// deploying is a blueprint whose deploy execution yields a text.
func deploying(yields string) Files {
	return files("deployExecutions: [{name: d, type: GoTemplate, file: d.yaml}]", "d.yaml", yields)
}

func TestRenderRefuses(t *testing.T) {
	tests := map[string]struct {
		files  Files
		reason string
		want   string
	}{
		"no object": {deploying("[1]"), "TemplateFailed", "deployExecutions[0] (d): the template must yield an object"},
		"no list":   {deploying("deployItems: hunter2"), "InvalidDeployItem", "deployItems: must be a list of objects: a string where"},
		"no name":   {deploying("deployItems: [{type: t}]"), "InvalidDeployItem", "deployItems[0] (): name: is required"},
		"no type":   {deploying("deployItems: [{name: item}]"), "InvalidDeployItem", "deployItems[0] (item): type: is required"},
		"bad type":  {deploying("deployItems: [{name: item, type: 'a b'}]"), "InvalidDeployItem", "deployItems[0] (item): type: must begin and end"},
		"config no object": {
			deploying("deployItems: [{name: item, type: t, config: [hunter2]}]"),
			"InvalidDeployItem",
			"config: must be an object",
		},
		"no config": {
			deploying("deployItems: [{name: item, type: t}]"),
			"InvalidDeployItem",
			"deployExecutions[0] (d): deployItems[0] (item): config: is required",
		},
		"no version": {
			deploying("deployItems: [{name: item, type: t, config: {kind: C, ApiVersion: hunter2}}]"),
			"InvalidDeployItem",
			"deployItems[0] (item): config.apiVersion: is required",
		},
		"a number version": {
			deploying("deployItems: [{name: item, type: t, config: {kind: C, apiVersion: 1}}]"),
			"InvalidDeployItem",
			"deployItems[0] (item): config.apiVersion: is required and must be a text",
		},
		"a wrong version": {
			deploying("deployItems: [{name: item, type: t, config: {kind: C, apiVersion: a/hunter2/c}}]"),
			"InvalidDeployItem",
			"deployItems[0] (item): config.apiVersion: must be GROUP/VERSION",
		},
		"no kind": {
			deploying("deployItems: [{name: item, type: t, config: {apiVersion: v1}}]"),
			"InvalidDeployItem",
			"deployItems[0] (item): config.kind: is required",
		},
		"a wrong kind": {
			deploying("deployItems: [{name: item, type: t, config: {apiVersion: v1, kind: 1hunter2}}]"),
			"InvalidDeployItem",
			"deployItems[0] (item): config.kind: must begin with a letter",
		},
		"same name": {
			deploying(
				"deployItems: [{name: item, type: t, config: {apiVersion: v1, kind: C}}, {name: item, type: t, config: {apiVersion: v1, kind: C}}]",
			),
			"InvalidDeployItem",
			`"item"`,
		},
		"unknown neighbour": {
			deploying("deployItems: [{name: item, type: t, config: {apiVersion: v1, kind: C}, dependsOn: [other]}]"),
			"InvalidDeployItem",
			"other",
		},
		"no such target": {
			deploying("deployItems: [{name: item, type: t, config: {apiVersion: v1, kind: C}, target: {import: x}}]"),
			"InvalidDeployItem",
			`target: there is no target import "x"`,
		},
		"two targets": {
			deploying("deployItems: [{name: item, type: t, config: {apiVersion: v1, kind: C}, target: {import: x, name: here}}]"),
			"InvalidDeployItem",
			"needs exactly one of import and name",
		},
		"foreign namespace": {
			deploying("deployItems: [{name: item, type: t, config: {apiVersion: v1, kind: C}, target: {name: here, namespace: kube-system}}]"),
			"InvalidDeployItem",
			"must be that of the installation",
		},
		"nested without component": {files("subinstallations: [{name: s, blueprint: {ref: cd://resources/b}}]"), dataflow.ReasonInvalidTemplate,
			"nested installation s: blueprint.ref: the installation has no component"},
		"nested no list": {
			files("subinstallationExecutions: [{name: s, type: Spiff, template: {subinstallations: hunter2}}]"),
			dataflow.ReasonInvalidTemplate,
			"must be a list of objects",
		},
	}
	e := NewEngine()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := e.Render(inputOf(t, e, test.files))
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("got %v", err)
			}
			if failure.KindOf(err) != failure.Terminal || failure.DetailsOf(err).Reason != test.reason {
				t.Errorf("it is %s, %+v", failure.KindOf(err), failure.DetailsOf(err))
			}
		})
	}
}

// importing is a blueprint with optional imports and a template.
func importing(execution string) Files {
	return files(
		"imports: [{name: greeting, required: false, schema: {type: string}, default: {value: hello}}, {name: optional, required: false, schema: {}, imports: [{name: more, schema: {}}]}]\n" + execution,
	)
}

func TestMisspeltNamesInGoTemplates(t *testing.T) {
	const item = `deployItems: [{name: item, type: t, config: {apiVersion: v1, kind: C, text: TEXT}}]`
	e := NewEngine()
	for text, want := range map[string]string{
		`{{ .imports.greeting | quote }}`:                     "hello",
		`{{ .imports.greting | quote }}`:                      "! there is no greting in imports; there are greeting, more, optional",
		`"{{ if .imports.optional }}x{{ else }}y{{ end }}"`:   "y",
		`"{{ with .imports.more }}x{{ else }}y{{ end }}"`:     "y",
		`"{{ if .cd }}x{{ else }}y{{ end }}"`:                 "y",
		`"{{ .import.greeting | default "x" }}"`:              "! there is no import among the bindings; there are blueprint, blueprintDef, cd, componentDescriptorDef, components, imports, state",
		`"{{ hasKey .imports "optional" }}"`:                  "false",
		`"{{ if .state }}{{ .state.x }}{{ else }}y{{ end }}"`: "y",
	} {
		for _, allowed := range []bool{false, true} {
			template := strings.Replace(item, "TEXT", text, 1)
			out, err := e.Render(
				inputOf(
					t,
					e,
					importing(fmt.Sprintf("deployExecutions: [{name: d, type: GoTemplate, allowMissingKeys: %t, template: %q}]", allowed, template)),
				),
			)
			switch complaint, wrong := strings.CutPrefix(want, "! "); {
			case wrong && allowed && strings.Contains(text, "quote") && (err != nil || !strings.Contains(string(out.DeployItems[0].Configuration.Raw), `"text":null`)):
				t.Errorf("%s: missing keys are not allowed: %v", text, err)
			case wrong && !allowed && (err == nil || !strings.Contains(err.Error(), complaint)):
				t.Errorf("%s: got %v, want %s", text, err, complaint)
			case !wrong && (err != nil || !strings.Contains(string(out.DeployItems[0].Configuration.Raw), `"text":"`+want+`"`)):
				t.Errorf("%s: got %v, want %s", text, err, want)
			}
		}
	}
}

func TestMisspeltNamesInExportExecutions(t *testing.T) {
	e := NewEngine()
	for text, want := range map[string]string{
		`exports: {a: "{{ .values.deployitems.x.y }}"}`:                                     "",
		`exports: {a: "{{ .deployitems.x.y }}"}`:                                            "",
		`exports: {a: "{{ if .values.dataobjects.z }}{{ else }}ok{{ end }}"}`:               "",
		`exports: {a: "{{ .values.deployitms.x.y }}"}`:                                      "there is no deployitms in values; there are dataobjects, deployitems, targets",
		`exports: {a: "{{ with .imports }}{{ .optional }}{{ .optinal | quote }}{{ end }}"}`: "there is no value here",
	} {
		in := inputOf(t, e, importing(fmt.Sprintf("exportExecutions: [{name: x, type: GoTemplate, template: %q}]", text)))
		_, _, err := e.Exports(in, ExportValues{DeployItems: map[string]any{"x": map[string]any{"y": "z"}}})
		if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestExportsRefuse(t *testing.T) {
	e := NewEngine()
	in := inputOf(t, e, files("exportExecutions: [{name: x, type: Spiff, template: {exports: [hunter2]}}]"))
	_, _, err := e.Exports(in, ExportValues{})
	if err == nil || !strings.Contains(err.Error(), "exportExecutions[0] (x): exports must be an object, not ") ||
		strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

const counting = `
deployExecutions:
- {name: count, type: GoTemplate, template: "state: {n: {{ if .state }}{{ add .state.n 1 }}{{ else }}1{{ end }}}"}
- {name: spiff, type: Spiff, template: {"n": (( &state(merge none // (stub() + 1 || 1)) ))}}
subinstallationExecutions:
- {name: other, type: GoTemplate, template: "state: {seen: {{ if .state }}{{ .state.seen }}{{ else }}false{{ end }}}"}
`

// A state is stored in Secrets and read back in the next run.
func TestStatesAreHandedOn(t *testing.T) {
	e := NewEngine()
	secrets := map[string]map[string][]byte{}
	for run := 1; run <= 3; run++ {
		in := inputOf(t, e, files(counting))
		states, err := in.Blueprint.LoadStates("tree", secrets)
		if err != nil {
			t.Fatal(err)
		}
		in.States = states
		out, err := e.Render(in)
		if err != nil {
			t.Fatal(err)
		}
		if secrets, err = out.States.Secrets("tree"); err != nil {
			t.Fatal(err)
		}
		for _, executor := range []string{"count", "spiff"} {
			content := string(secrets[dataflow.StateSecret("tree", dataflow.StateDeploy, executor)][dataflow.StateSecretKey])
			if want := fmt.Sprintf(`{"n":%d}`, run); content != want || len(secrets) != 3 {
				t.Errorf("run %d: %d Secrets, %s has %s", run, len(secrets), executor, content)
			}
		}
	}
}

func TestOlderStatesAreFound(t *testing.T) {
	b, err := Parse(files(counting))
	if err != nil {
		t.Fatal(err)
	}
	older := dataflow.StateSecret("tree", dataflow.StateDeploy, "other")
	states, err := b.LoadStates("tree", map[string]map[string][]byte{older: {dataflow.StateSecretKey: []byte("seen: true")}})
	want := States{dataflow.StateSubinstallation: {"other": {"seen": true}}}
	if difference := cmp.Diff(want, states); err != nil || difference != "" {
		t.Errorf("%v, %s", err, difference)
	}
	names := strings.Join(b.StateSecrets("tree"), " ")
	for _, name := range []string{older, dataflow.StateSecret("tree", dataflow.StateDeploy, "count"), dataflow.StateSecret("tree", dataflow.StateSubinstallation, "other")} {
		if !strings.Contains(names, name) {
			t.Errorf("%s is not asked for", name)
		}
	}
	_, err = b.LoadStates("tree", map[string]map[string][]byte{older: {dataflow.StateSecretKey: []byte("[hunter2]")}})
	if err == nil || !strings.Contains(err.Error(), older) || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestSubinstallationName(t *testing.T) {
	// Objects with this name exist in clusters: another name would create duplicates.
	if got, want := SubinstallationName("a", "b"), "b-yfgn3"; got != want {
		t.Errorf("name = %q, want %q for all time", got, want)
	}
	seen := map[string]bool{}
	for _, pair := range [][2]string{{"a", "b"}, {"b", "a"}, {"ab", "b"}, {"a", "c"}} {
		name := SubinstallationName(pair[0], pair[1])
		if seen[name] || !strings.HasPrefix(name, pair[1]+"-") || len(name) != len(pair[1])+6 {
			t.Errorf("%v: %s", pair, name)
		}
		seen[name] = true
	}
}

func TestObjects(t *testing.T) {
	parent := &lsv1alpha1.Installation{ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "tree"}}
	parent.Spec.Context, parent.Spec.Flow = "trusted", lsv1alpha1.FlowContinuous
	if got := (&Output{}).Execution(parent); got != nil {
		t.Errorf("an execution without deploy items: %v", got)
	}
	items := []lsv1alpha1.DeployItemTemplate{{Name: "leaf"}}
	if diff := cmp.Diff(&lsv1alpha1.Execution{
		TypeMeta:   metav1.TypeMeta{APIVersion: "landscaper.gardener.cloud/v1alpha1", Kind: "Execution"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "garden", Name: "tree"},
		Spec:       lsv1alpha1.ExecutionSpec{Context: "trusted", Flow: lsv1alpha1.FlowContinuous, DeployItems: items},
	}, (&Output{DeployItems: items}).Execution(parent)); diff != "" {
		t.Errorf("the execution:\n%s", diff)
	}
	child := (&Subinstallation{Name: "branch", ObjectName: "branch-x"}).Object(parent)
	if diff := cmp.Diff(metav1.ObjectMeta{
		Namespace: "garden", Name: "branch-x",
		Labels:      map[string]string{lsv1alpha1.EncompassedByLabel: "tree"},
		Annotations: map[string]string{lsv1alpha1.SubinstallationNameAnnotation: "branch"},
	}, child.ObjectMeta); diff != "" {
		t.Errorf("the nested installation:\n%s", diff)
	}
}
