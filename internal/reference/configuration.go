// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package reference

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

const configurationHeading = `# Configuration

What can be configured: [flags of the controllers](#flags-of-espalier-controller), [values of the Helm chart](#values-of-the-chart) and
[environment variables](#environment-variables). [Install](../install.md) shows where to set them, [operations](../operations.md) which to
set. This page is generated from the code and the chart: ` + "`make generate`" + `.

## Flags of espalier-controller

`

const valuesHeading = `
## Values of the chart

The chart rejects unknown values. ` + "`controller.flags`" + ` takes the flags above by their names, without the dashes, except those that the chart
sets itself.

| Value | Type | Default | |
|---|---|---|---|
`

const variablesHeading = `
## Environment variables

A test compares this list with the variables that the code reads. Libraries read more, of which the list has those that matter most:
those of OpenTelemetry, proxies and certificates. ` + "`espalier kubectl`" + ` also reads the variables of kubectl.

| Variable | Read by | |
|---|---|---|
`

// ConfigurationPage returns the page about what can be configured, for the tree at root and the flags of the controllers.
func ConfigurationPage(root string, command *cobra.Command) (string, error) {
	values, err := valueTable(root)
	if err != nil {
		return "", err
	}
	p, err := readProgram(root)
	if err != nil {
		return "", err
	}
	if err := p.checkVariables(); err != nil {
		return "", err
	}
	var page strings.Builder
	page.WriteString(configurationHeading)
	page.WriteString(flagTable(command.Flags(), func(*pflag.Flag) bool { return true }))
	page.WriteString(valuesHeading + values + variablesHeading)
	for _, v := range variables {
		fmt.Fprintf(&page, "| %s | %s | %s |\n", code(v.names), code(v.by), cell(v.text))
	}
	return page.String(), undocumented(command)
}

// valueTable returns the rows of a table of all values: defaults and comments from values.yaml, types from its schema.
func valueTable(root string) (string, error) {
	chart := filepath.Join(root, "charts", "espalier")
	text, err := os.ReadFile(filepath.Join(chart, "values.yaml"))
	if err != nil {
		return "", err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return "", fmt.Errorf("values.yaml: %w", err)
	}
	if text, err = os.ReadFile(filepath.Join(chart, "values.schema.json")); err != nil {
		return "", err
	}
	types := schema{}
	if err := json.Unmarshal(text, &types); err != nil {
		return "", fmt.Errorf("values.schema.json: %w", err)
	}
	var rows strings.Builder
	err = writeValues(&rows, "", document.Content[0], types)
	return rows.String(), err
}

// ofContainers are values whose content Kubernetes defines.
const ofContainers = "resources"

// writeValues writes the rows of the values in a node.
func writeValues(rows *strings.Builder, path string, node *yaml.Node, types schema) error {
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		here := join(path, key.Value)
		properties, _ := types["properties"].(schema)
		own, known := properties[key.Value].(schema)
		if !known {
			return fmt.Errorf("values.schema.json does not have %s", here)
		}
		if value.Kind == yaml.MappingNode && len(value.Content) > 0 && key.Value != ofContainers {
			if err := writeValues(rows, here, value, own); err != nil {
				return err
			}
			continue
		}
		text := commentOf(key)
		if text == "" {
			return fmt.Errorf("%s of values.yaml has no comment above it", here)
		}
		fallback, err := defaultOf(value)
		if err != nil {
			return fmt.Errorf("%s: %w", here, err)
		}
		fmt.Fprintf(rows, "| `%s` | %s | %s | %s |\n", here, cell(typeOf(own)), cell(fallback), cell(text))
	}
	return nil
}

// commentOf returns the comment above a key in one line.
func commentOf(key *yaml.Node) string {
	lines := strings.Split(key.HeadComment, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(strings.TrimPrefix(line, "#"))
	}
	return strings.Join(lines, " ")
}

// defaultOf returns a value as JSON; empty for empty ones.
func defaultOf(value *yaml.Node) (string, error) {
	var content any
	if err := value.Decode(&content); err != nil {
		return "", err
	}
	text, err := json.Marshal(content)
	if shown := string(text); err != nil || shown == `""` || shown == "{}" || shown == "[]" {
		return "", err
	}
	return "`" + strings.Trim(string(text), `"`) + "`", nil
}
