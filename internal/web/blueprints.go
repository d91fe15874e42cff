// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package web

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/confidential"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/masking"
	"espalier.dev/internal/offline"
	"espalier.dev/internal/web/view"
)

// parameter is an import or export of a blueprint.
type parameter struct {
	Name   string `json:"name"`
	Type   string `json:"type"`
	Schema string `json:"schema"`
}

// shownBlueprint shows the imports, exports and contents of a blueprint.
type shownBlueprint struct {
	Name    string      `json:"name"`
	Imports []parameter `json:"imports"`
	Exports []parameter `json:"exports"`
	Graph   view.Graph  `json:"graph"`
	Source  string      `json:"source"`
}

// installationOf reads the installation that a request names, with the caller's rights.
func (by caller) installationOf(r *http.Request, namespace, name string) (*lsv1alpha1.Installation, error) {
	object, err := by.read(r, view.Ref{Kind: "Installation", Namespace: namespace, Name: name})
	if err != nil {
		return nil, err
	}
	inst, ok := object.(*lsv1alpha1.Installation)
	if !ok {
		return nil, fmt.Errorf("installation %s/%s was read as %T", namespace, name, object)
	}
	return inst, nil
}

// blueprint shows the blueprint of an installation, wherever it is stored.
func (s *Server) blueprint(r *http.Request, by caller) (any, error) {
	ref := refOf(r)
	inst, err := by.installationOf(r, ref.Namespace, ref.Name)
	if err != nil {
		return nil, err
	}
	manifests := offline.NewManifests(inst.Namespace)
	manifests.Installations = []*lsv1alpha1.Installation{inst}
	if err := by.cluster().Sources(r.Context(), manifests, inst); err != nil {
		return nil, unread(err)
	}
	out := s.newOutside()
	defer out.close()
	parsed, err := out.find(r.Context(), inst, manifests)
	if err != nil {
		return nil, err
	}
	source, err := sourceOf(parsed.Files)
	if err != nil {
		return nil, err
	}
	shown := shownBlueprint{
		Name: inst.Name, Imports: []parameter{}, Exports: []parameter{}, Graph: partsOf(inst.Name, parsed), Source: source,
	}
	for _, definition := range allImports(parsed.Imports) {
		shown.Imports = append(shown.Imports, parameterOf(definition))
	}
	for i := range parsed.Exports {
		shown.Exports = append(shown.Exports, parameterOf(&parsed.Exports[i].FieldValueDefinition))
	}
	return shown, nil
}

// sourceOf shows the files of a blueprint: text files in full, others by their size.
func sourceOf(files blueprint.Files) (string, error) {
	texts := map[string]string{}
	for name, content := range files {
		if texts[name] = string(content); !utf8.Valid(content) {
			texts[name] = fmt.Sprintf("(%d bytes)", len(content))
		}
	}
	text, err := yaml.Marshal(texts)
	if err != nil {
		return "", fmt.Errorf("write the files of a blueprint as YAML: %w", err)
	}
	shown, more := cut(string(text))
	if more {
		shown += "\n# There is more."
	}
	return shown, nil
}

func parameterOf(d *lsv1alpha1.FieldValueDefinition) parameter {
	p := parameter{Name: d.Name, Type: string(dataflow.TypeOf(d)), Schema: dataflow.TargetTypeOf(d)}
	if d.Schema != nil {
		if text, err := yaml.JSONToYAML(d.Schema.Raw); err == nil { // The blueprint was parsed, so this is JSON.
			p.Schema = string(text)
		}
	}
	return p
}

// trial is a request to render an installation with other values.
type trial struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Values    string `json:"values"`
}

type renderedItem struct {
	Name string `json:"name"`
	YAML string `json:"yaml"`
}

type rendering struct {
	Items   []renderedItem `json:"items"`
	Message string         `json:"message"`
}

// render shows what an installation would contain with other values. Values that are not given are read with the caller's rights.
func (s *Server) render(r *http.Request, by caller) (any, error) {
	wanted, err := body[trial](r)
	if err != nil {
		return nil, err
	}
	inst, err := by.installationOf(r, wanted.Namespace, wanted.Name)
	if err != nil {
		return nil, err
	}
	values := map[string]any{}
	if err := yaml.Unmarshal([]byte(wanted.Values), &values); err != nil {
		return nil, invalid("The values must be YAML with one import per line, such as replicas: 3.")
	}
	maps.DeleteFunc(values, func(_ string, value any) bool { return value == nil }) // A name without a value was not filled in.
	manifests, err := by.world(r.Context(), inst, values)
	if err != nil {
		return nil, err
	}
	secrets := confidential.Reader{Live: by.reader.client}.OfInstallation(r.Context(), manifests.Installations[0])
	switch exported := slices.ContainsFunc(manifests.DataObjects, isExported); {
	case !secrets.Known() && exported:
		return nil, invalid("What %s renders to is not shown, because it may contain secrets that cannot be distinguished from other values: %s.",
			inst.Name, secrets.Text("x"))
	case !secrets.Known():
		secrets = &masking.Values{} // The rendering itself masks what it reads from Secrets.
	}
	out := s.newOutside()
	defer out.close()
	result, err := out.render(r.Context(), inst, manifests)
	if err != nil {
		return nil, invalid("%s cannot be rendered: %v.", inst.Name, secrets.Error(err))
	}
	return written(result, secrets)
}

// isExported reports whether an installation has written a DataObject: its value may come from a Secret.
func isExported(object *lsv1alpha1.DataObject) bool {
	return object.Labels[lsv1alpha1.DataObjectSourceLabel] != ""
}

// written returns what was rendered, without secrets.
func written(result *offline.Result, secrets *masking.Values) (rendering, error) {
	made := rendering{Items: []renderedItem{}}
	manifests, err := result.Manifests(false)
	if err != nil {
		return made, err
	}
	for _, manifest := range manifests {
		hidden, _ := secrets.Value(manifest)
		text, err := yaml.Marshal(hidden)
		if err != nil {
			return made, fmt.Errorf("write what was rendered: %w", err)
		}
		metadata, _ := manifest["metadata"].(map[string]any)
		made.Items = append(made.Items, renderedItem{Name: fmt.Sprintf("%v %v", manifest["kind"], metadata["name"]), YAML: string(text)})
	}
	for _, note := range slices.Concat(result.Waiting, result.Warnings) {
		made.Message += secrets.Text(note) + "\n"
	}
	return made, nil
}

// world returns the sources to render an installation from: the given values, and objects of its namespace for the others.
func (by caller) world(ctx context.Context, inst *lsv1alpha1.Installation, values map[string]any) (*offline.Manifests, error) {
	scope := dataflow.Scope{Namespace: inst.Namespace, Parent: inst.Labels[lsv1alpha1.EncompassedByLabel]}
	manifests := offline.NewManifests(inst.Namespace)
	own := inst.DeepCopy()
	for i, data := range own.Spec.Imports.Data {
		value, given := values[data.Name]
		if !given {
			continue
		}
		delete(values, data.Name)
		own.Spec.Imports.Data[i] = lsv1alpha1.DataImport{Name: data.Name, DataRef: "value-of-" + data.Name}
		object, err := dataObject(scope, own.Spec.Imports.Data[i].DataRef, value)
		if err != nil {
			return nil, err
		}
		manifests.DataObjects = append(manifests.DataObjects, object)
	}
	for name := range own.Spec.ImportDataMappings {
		if value, given := values[name]; given {
			text, err := asJSON(name, value)
			if err != nil {
				return nil, err
			}
			own.Spec.ImportDataMappings[name] = text
			delete(values, name)
		}
	}
	if len(values) > 0 {
		return nil, invalid("%s has no import %s.", inst.Name, firstOf(values))
	}
	manifests.Installations = []*lsv1alpha1.Installation{own}
	if err := by.cluster().Imports(ctx, manifests, scope, dataflow.NeedsOf(scope, own.Spec.Imports)); err != nil {
		return nil, unread(err)
	}
	return manifests, unread(by.cluster().Sources(ctx, manifests, own))
}

func firstOf(values map[string]any) string {
	var names []string
	for name := range values {
		names = append(names, name)
	}
	return slices.Min(names)
}

func dataObject(scope dataflow.Scope, reference string, value any) (*lsv1alpha1.DataObject, error) {
	text, err := asJSON(reference, value)
	return &lsv1alpha1.DataObject{
		ObjectMeta: metav1.ObjectMeta{Namespace: scope.Namespace, Name: scope.ObjectName(reference)}, Data: text,
	}, err
}

func asJSON(name string, value any) (lsv1alpha1.AnyJSON, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return lsv1alpha1.AnyJSON{}, invalid("The value of %s cannot be converted to JSON.", name)
	}
	return lsv1alpha1.AnyJSON{Raw: text}, nil
}
