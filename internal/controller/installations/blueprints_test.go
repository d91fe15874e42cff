// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations_test

import (
	"fmt"
	"strings"
)

const header = `
apiVersion: landscaper.gardener.cloud/v1alpha1
kind: Blueprint
`

// empty is a blueprint that installs nothing.
const empty = header

// item is a deploy item of the mock deployer; settings are lines of its configuration.
func item(name string, settings ...string) string {
	text := fmt.Sprintf(`
    - name: %s
      type: landscaper.gardener.cloud/mock
      config:
        apiVersion: mock.deployer.landscaper.gardener.cloud/v1alpha1
        kind: ProviderConfiguration
`, name)
	for _, line := range settings {
		text += "        " + line + "\n"
	}
	return strings.TrimPrefix(text, "\n")
}

const (
	endless = "phase: Progressing"
	failing = "phase: Failed"
)

// placed is a deploy item of the manifest deployer that puts a ConfigMap into the target "place".
func placed(name, namespace string, settings ...string) string {
	text := fmt.Sprintf(`    - name: %[1]s
      type: landscaper.gardener.cloud/kubernetes-manifest
      target:
        import: place
      config:
        apiVersion: manifest.deployer.landscaper.gardener.cloud/v1alpha2
        kind: ProviderConfiguration
        manifests:
        - policy: manage
          manifest: {apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s, namespace: %[2]s}, data: {word: planted}}
`, name, namespace)
	for _, line := range settings {
		text += "        " + line + "\n"
	}
	return text
}

// importsPlace declares the import of the target "place".
const importsPlace = `
imports:
- name: place
  type: target
  targetType: landscaper.gardener.cloud/kubernetes-cluster
`

// deploy is a section of a blueprint with deploy items.
func deploy(items ...string) string {
	return "deployExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    deployItems:\n" + strings.Join(items, "")
}

// imports declares data imports of any type.
func imports(names ...string) string {
	text := "imports:\n"
	for _, name := range names {
		text += fmt.Sprintf("- name: %s\n  type: data\n  schema: {}\n", name)
	}
	return text
}

// exports declares data exports and the template that computes them.
func exports(template string, names ...string) string {
	text := "exports:\n"
	for _, name := range names {
		text += fmt.Sprintf("- name: %s\n  type: data\n  schema: {}\n", name)
	}
	return text + "exportExecutions:\n- name: default\n  type: GoTemplate\n  template: |\n    exports:\n      " + template + "\n"
}

// sub is a nested installation.
type sub struct {
	name, blueprint string
	// imports and exports map names of the nested blueprint to those in the parent's scope; target has the same name in both.
	imports, exports map[string]string
	target           string
}

// nest is a section of a blueprint with nested installations.
func nest(subs ...sub) string {
	var text strings.Builder
	text.WriteString("subinstallations:\n")
	for _, s := range subs {
		fmt.Fprintf(&text, "- apiVersion: landscaper.gardener.cloud/v1alpha1\n  kind: InstallationTemplate\n  name: %s\n", s.name)
		text.WriteString("  blueprint:\n    filesystem:\n      blueprint.yaml: |\n" + indent(s.blueprint, "        "))
		for _, side := range []struct {
			name string
			refs map[string]string
		}{{"imports", s.imports}, {"exports", s.exports}} {
			if len(side.refs) > 0 {
				fmt.Fprintf(&text, "  %s:\n    data:\n", side.name)
			}
			for name, reference := range side.refs {
				fmt.Fprintf(&text, "    - name: %s\n      dataRef: %s\n", name, reference)
			}
		}
		if s.target != "" {
			fmt.Fprintf(&text, "  imports:\n    targets:\n    - name: %s\n      target: %s\n", s.target, s.target)
		}
	}
	return text.String()
}

func indent(text, by string) string {
	return by + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+by) + "\n"
}
