// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"espalier.dev/internal/deployer/helm/charts"
)

// Input is the input of a rendering.
type Input struct {
	Package *charts.Package
	Values  map[string]any
	Release common.ReleaseOptions
	// Capabilities are those of the target; nil means Helm's defaults.
	Capabilities *common.Capabilities
	// SkipSchema skips the validation of the values.
	SkipSchema bool
	// Target is the cluster for the function lookup; with nil, lookup finds nothing.
	Target *rest.Config
}

// Text is one file of the result.
type Text struct {
	// Name is the name of the template, with the folder of the chart.
	Name    string
	Content string
}

// Result is what a chart renders to.
type Result struct {
	// Values are the data for the templates: Chart, Capabilities, Release and Values.
	Values map[string]any
	// Templates are those that rendered to something, except the notes.
	Templates []Text
	// Definitions are the files in the folders crds.
	Definitions []Text
}

// notes is the suffix of files with text for users.
const notes = "NOTES.txt"

// Values returns the data for the templates of a chart. It renders nothing.
func Values(in Input) (map[string]any, error) {
	_, values, err := prepare(in)
	return values, err
}

// Render renders a chart.
func Render(ctx context.Context, in Input) (*Result, error) {
	loaded, values, err := prepare(in)
	if err != nil {
		return nil, err
	}
	result := &Result{Values: values}
	machine := engine.Engine{}
	if in.Target != nil {
		machine = engine.New(in.Target)
	}
	machine.CustomTemplateFuncs = Functions()
	texts, err := machine.RenderWithContext(ctx, loaded, values)
	if err != nil {
		return nil, fmt.Errorf("render the chart %s: %w", loaded.Name(), err)
	}
	for _, name := range sorted(texts) {
		if content := texts[name]; strings.TrimSpace(content) != "" && !strings.HasSuffix(name, notes) {
			result.Templates = append(result.Templates, Text{Name: name, Content: content})
		}
	}
	for _, definition := range loaded.CRDObjects() {
		result.Definitions = append(result.Definitions, Text{Name: definition.Filename, Content: string(definition.File.Data)})
	}
	return result, nil
}

// prepare loads the chart and merges the values.
func prepare(in Input) (*chart.Chart, common.Values, error) {
	loaded, err := in.Package.Load()
	if err != nil {
		return nil, nil, err
	}
	capabilities := in.Capabilities
	if capabilities == nil {
		capabilities = common.DefaultCapabilities
	}
	if err := checkVersion(loaded, capabilities); err != nil {
		return nil, nil, err
	}
	given := copyOf(in.Values)
	if err := chartutil.ProcessDependencies(loaded, given); err != nil {
		return nil, nil, fmt.Errorf("the dependencies of the chart %s: %w", loaded.Name(), err)
	}
	values, err := util.ToRenderValuesWithSchemaValidation(loaded, given, in.Release, capabilities, true)
	if err != nil {
		return nil, nil, fmt.Errorf("the values for the chart %s: %w", loaded.Name(), err)
	}
	if in.SkipSchema {
		return loaded, values, nil
	}
	return loaded, values, checkSchemas(loaded, values)
}

// ErrIncompatible means that the chart does not fit the target.
var ErrIncompatible = errors.New("the chart does not support this version of Kubernetes")

func checkVersion(c *chart.Chart, capabilities *common.Capabilities) error {
	wanted := c.Metadata.KubeVersion
	if wanted == "" || chartutil.IsCompatibleRange(wanted, capabilities.KubeVersion.String()) {
		return nil
	}
	return fmt.Errorf("%w: %s requires kubeVersion %s, the target has %s", ErrIncompatible, c.Name(), wanted, capabilities.KubeVersion.Version)
}

// copyOf protects the values from Helm, which modifies them.
func copyOf(values map[string]any) map[string]any {
	if values == nil {
		return map[string]any{}
	}
	return runtime.DeepCopyJSON(values)
}
