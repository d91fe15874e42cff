// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/yaml"
)

func TestRevisions(t *testing.T) {
	for name, c := range map[string]struct {
		spec string
		// revision is what is there, after what SetRevision("2.0.0") makes of the spec; empty if it cannot.
		revision, after string
	}{
		"component": {
			`componentDescriptor: {ref: {componentName: a, version: 1.0.0}}`, "1.0.0",
			`componentDescriptor: {ref: {componentName: a, version: 2.0.0}}`,
		},
		"inline component":          {`componentDescriptor: {inline: {component: {version: 1.0.0}}}`, "1.0.0", ""},
		"inline component, v3":      {`componentDescriptor: {inline: {metadata: {version: 1.0.0}}}`, "1.0.0", ""},
		"nothing":                   {`context: default`, "", ""},
		"artifact":                  {`{revisionField: blueprint.oci.reference, blueprint: {oci: {reference: "r:5000/a:1.0.0"}}}`, "1.0.0", `{revisionField: blueprint.oci.reference, blueprint: {oci: {reference: "r:5000/a:2.0.0"}}}`},
		"artifact with a digest":    {`{revisionField: blueprint.oci.reference, blueprint: {oci: {reference: "r/a:1.0.0@sha256:00"}}}`, "1.0.0", `{revisionField: blueprint.oci.reference, blueprint: {oci: {reference: "r/a:2.0.0"}}}`},
		"artifact without a tag":    {`{revisionField: blueprint.oci.reference, blueprint: {oci: {reference: "r:5000/a"}}}`, "", `{revisionField: blueprint.oci.reference, blueprint: {oci: {reference: "r:5000/a:2.0.0"}}}`},
		"git":                       {`{revisionField: blueprint.git.revision, blueprint: {git: {url: u, revision: v1}}}`, "v1", `{revisionField: blueprint.git.revision, blueprint: {git: {url: u, revision: 2.0.0}}}`},
		"mapping":                   {`{revisionField: importDataMappings.version, importDataMappings: {version: "1.0.0"}}`, "1.0.0", `{revisionField: importDataMappings.version, importDataMappings: {version: "2.0.0"}}`},
		"the field beats component": {`{revisionField: importDataMappings.v, importDataMappings: {v: "3"}, componentDescriptor: {ref: {componentName: a, version: "1"}}}`, "3", `{revisionField: importDataMappings.v, importDataMappings: {v: "2.0.0"}, componentDescriptor: {ref: {componentName: a, version: "1"}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			spec := specOf(t, c.spec)
			if got, err := spec.Revision(); err != nil || got != c.revision {
				t.Errorf("the revision is %q, %v; want %q", got, err, c.revision)
			}
			err := spec.SetRevision("2.0.0")
			if (err != nil) != (c.after == "") {
				t.Fatalf("set: %v", err)
			}
			if got := text(t, spec); err == nil && got != text(t, specOf(t, c.after)) {
				t.Errorf("after it: %s", got)
			}
		})
	}
}

func TestFieldsThatHoldNoRevision(t *testing.T) {
	for name, c := range map[string]struct{ spec, want string }{
		"no artifact":   {`revisionField: blueprint.oci.reference`, "spec.revisionField names blueprint.oci.reference, which is not set"},
		"no repository": {`revisionField: blueprint.git.revision`, "spec.revisionField names blueprint.git.revision, which is not set"},
		"no mapping":    {`revisionField: importDataMappings.v`, "spec.revisionField names importDataMappings.v, which is not set"},
		"a number":      {`{revisionField: importDataMappings.v, importDataMappings: {v: 1}}`, "must be a text that is no template"},
		"a template":    {`{revisionField: importDataMappings.v, importDataMappings: {v: "(( x ))"}}`, "must be a text that is no template"},
		"another field": {`revisionField: context`, "spec.revisionField names context, which is not set"},
	} {
		spec := specOf(t, c.spec)
		if _, err := spec.Revision(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: read: %v", name, err)
		}
		if err := spec.SetRevision("2"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: write: %v", name, err)
		}
	}
	artifact := specOf(t, `{revisionField: blueprint.oci.reference, blueprint: {oci: {reference: "r/a:1"}}}`)
	if err := artifact.SetRevision("a/b:c"); err == nil || text(t, artifact) != text(t, specOf(t, `{revisionField: blueprint.oci.reference, blueprint: {oci: {reference: "r/a:1"}}}`)) {
		t.Errorf("a revision that is no tag: %v", err)
	}
}

func specOf(t *testing.T, document string) *InstallationSpec {
	t.Helper()
	spec := &InstallationSpec{}
	if err := yaml.UnmarshalStrict([]byte(document), spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

func text(t *testing.T, spec *InstallationSpec) string {
	t.Helper()
	data, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
