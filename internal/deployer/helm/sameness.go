// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package helm

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"espalier.dev/internal/deployer/helm/render"
	"espalier.dev/internal/deployer/objects/documents"
)

// same reports whether a revision has the wanted chart and values. Revisions of this deployer carry the digest of their
// chart. Of other revisions, the chart in the record is compared. Charts within the chart are not in the record: if there are
// any, the rendered result is compared as well.
func (h *handle) same(ctx context.Context, r *release.Release, w wish) (bool, error) {
	if !sameJSON(orEmpty(r.Config), orEmpty(w.config.values)) {
		return false, nil
	}
	if mark := r.Labels[chartLabel]; strings.HasPrefix(mark, fmt.Sprintf("%d-", r.Version)) {
		return mark == chartMark(r.Version, w.chart.Digest), nil
	}
	wanted, err := w.chart.Load()
	if err != nil {
		return false, err
	}
	// The record has the chart as modified by Helm.
	if err := chartutil.ProcessDependencies(wanted, copyOf(w.config.values)); err != nil {
		return false, nil
	}
	if !sameChart(r.Chart, wanted) {
		return false, nil
	}
	if len(wanted.Dependencies()) == 0 {
		return true, nil
	}
	return h.rendersTo(ctx, r, w)
}

// rendersTo reports whether the wanted chart renders to the content of a revision.
func (h *handle) rendersTo(ctx context.Context, r *release.Release, w wish) (bool, error) {
	way := connect(ctx, h.cluster, h.reference.Namespace)
	capabilities, err := way.capabilities()
	if err != nil {
		return false, err
	}
	rendered, err := render.Render(ctx, render.Input{
		Package: w.chart, Values: w.config.values, SkipSchema: true, Capabilities: capabilities, Target: way.config,
		Release: common.ReleaseOptions{
			Name: h.reference.Name, Namespace: h.reference.Namespace, Revision: r.Version, IsInstall: r.Version == 1, IsUpgrade: r.Version > 1,
		},
	})
	if err != nil {
		return false, nil // The operation finds the same error and reports it.
	}
	var texts []string
	for _, template := range rendered.Templates {
		texts = append(texts, template.Content)
	}
	stored := []string{r.Manifest}
	for _, hook := range r.Hooks {
		stored = append(stored, hook.Manifest)
	}
	return sameObjects(stored, texts), nil
}

func sameObjects(a, b []string) bool {
	first, ok := objectsByName(a)
	second, alsoOK := objectsByName(b)
	return ok && alsoOK && reflect.DeepEqual(first, second)
}

func objectsByName(texts []string) (map[string]*unstructured.Unstructured, bool) {
	result := map[string]*unstructured.Unstructured{}
	for _, text := range texts {
		objects, err := documents.Split(text)
		if err != nil {
			return nil, false
		}
		for _, object := range objects {
			result[strings.Join([]string{object.GetAPIVersion(), object.GetKind(), object.GetNamespace(), object.GetName()}, "\x00")] = object
		}
	}
	return result, true
}

// sameChart compares the chart in the record of a release with the wanted one. Times are ignored.
func sameChart(stored, wanted *chart.Chart) bool {
	return stored != nil && stored.Metadata != nil &&
		sameJSON(stored.Metadata, wanted.Metadata) &&
		sameJSON(orEmpty(stored.Values), orEmpty(wanted.Values)) &&
		string(stored.Schema) == string(wanted.Schema) &&
		sameFiles(stored.Templates, wanted.Templates) &&
		sameFiles(stored.Files, wanted.Files)
}

func sameFiles(a, b []*common.File) bool { return reflect.DeepEqual(contents(a), contents(b)) }

func contents(files []*common.File) map[string]string {
	result := map[string]string{}
	for _, file := range files {
		result[file.Name] = string(file.Data)
	}
	return result
}

// sameJSON compares values by their JSON form.
func sameJSON(a, b any) bool {
	first, err := throughJSON(a)
	if err != nil {
		return false
	}
	second, err := throughJSON(b)
	return err == nil && reflect.DeepEqual(first, second)
}

func throughJSON(value any) (result any, err error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return result, json.Unmarshal(text, &result)
}

func orEmpty(values map[string]any) map[string]any {
	if values == nil {
		return map[string]any{}
	}
	return values
}

// copyOf protects values from Helm, which modifies them.
func copyOf(values map[string]any) map[string]any { return runtime.DeepCopyJSON(orEmpty(values)) }
