// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package create

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/cli"
	"espalier.dev/internal/cli/connect"
	"espalier.dev/internal/cli/display"
	"espalier.dev/internal/dataflow"
	"espalier.dev/internal/offline"
)

// imports are the values of a blueprint's imports.
type imports struct {
	data          []dataImport
	targetImports []lsv1alpha1.TargetImport
	targets       []wantedTarget
	exports       lsv1alpha1.InstallationExports
}

// dataImport is a value as a ConfigMap or Secret holds it, or the name of a DataObject.
type dataImport struct {
	name       string
	content    []byte
	secret     bool
	dataObject string
}

// wantedTarget is a Target that an import names.
type wantedTarget struct{ imported, name, targetType string }

// apply writes the imports into an installation, and returns the objects that hold the values.
func (i *imports) apply(inst *lsv1alpha1.Installation) []client.Object {
	meta := metav1.ObjectMeta{Namespace: inst.Namespace, Name: inst.Name + "-imports"}
	configMap := &corev1.ConfigMap{ObjectMeta: meta, Data: map[string]string{}}
	secret := &corev1.Secret{ObjectMeta: meta, Type: corev1.SecretTypeOpaque, Data: map[string][]byte{}}
	for n, data := range i.data {
		key := data.name
		if len(validation.IsConfigMapKey(key)) > 0 {
			key = fmt.Sprintf("import-%d", n+1)
		}
		imported := lsv1alpha1.DataImport{Name: data.name}
		switch {
		case data.dataObject != "":
			imported.DataRef = data.dataObject
		case data.secret:
			secret.Data[key] = data.content
			imported.SecretRef = &lsv1alpha1.LocalSecretReference{Name: meta.Name, Key: key}
		default:
			configMap.Data[key] = string(data.content)
			imported.ConfigMapRef = &lsv1alpha1.LocalConfigMapReference{Name: meta.Name, Key: key}
		}
		inst.Spec.Imports.Data = append(inst.Spec.Imports.Data, imported)
	}
	inst.Spec.Imports.Targets = i.targetImports
	inst.Spec.Exports = i.exports
	var objects []client.Object
	if len(configMap.Data) > 0 {
		objects = append(objects, configMap)
	}
	if len(secret.Data) > 0 {
		objects = append(objects, secret)
	}
	return objects
}

// search finds the values of a blueprint's imports: flags give them, or people do.
type search struct {
	env    cli.Environment
	access *connect.Access
	given  *given
	opened offline.Opened
	// candidates are the Targets of a type that a user can choose from.
	candidates func(targetType string) []string
	// dataObject reads the value of a DataObject; it returns false if there is nothing to check.
	dataObject func(ctx context.Context, name string) (any, bool, error)
	found      *imports

	ask     *conversation // nil if nobody can be asked
	used    map[string]bool
	known   []string
	missing []*lsv1alpha1.ImportDefinition
}

func (s *search) run(ctx context.Context) error {
	s.used = map[string]bool{}
	s.note(s.opened.Blueprint.Imports)
	if err := s.refuseUnknown(); err != nil {
		return err
	}
	if err := s.takeExports(); err != nil {
		return err
	}
	s.ask = newConversation(s.env)
	if err := s.all(ctx, s.opened.Blueprint.Imports); err != nil {
		return err
	}
	if len(s.missing) > 0 {
		return s.lacking()
	}
	for _, name := range s.known {
		if s.given.has(name) && !s.used[name] {
			return fmt.Errorf("import %s has no effect: it belongs to another import, which is not given", name)
		}
	}
	return nil
}

// note remembers the names of all imports.
func (s *search) note(definitions []lsv1alpha1.ImportDefinition) {
	for i := range definitions {
		s.known = append(s.known, definitions[i].Name)
		s.note(definitions[i].ConditionalImports)
	}
}

func (s *search) refuseUnknown() error {
	var unknown []string
	for name := range s.given.values {
		unknown = append(unknown, name)
	}
	for name := range s.given.dataObjects {
		unknown = append(unknown, name)
	}
	for name := range s.given.targetNames {
		unknown = append(unknown, name)
	}
	unknown = slices.DeleteFunc(unknown, func(name string) bool { return slices.Contains(s.known, name) })
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	if len(s.known) == 0 {
		return fmt.Errorf("the blueprint has no imports, but these are given: %s", list(unknown))
	}
	return fmt.Errorf("the blueprint has no import of this name: %s; it has %s", list(unknown), list(s.known))
}

func (s *search) all(ctx context.Context, definitions []lsv1alpha1.ImportDefinition) error {
	for i := range definitions {
		definition := &definitions[i]
		s.used[definition.Name] = true
		satisfied, err := s.one(ctx, definition)
		if err != nil {
			return err
		}
		if !satisfied {
			continue
		}
		if err := s.all(ctx, definition.ConditionalImports); err != nil {
			return err
		}
	}
	return nil
}

// one finds the value of an import, and reports whether it has one.
func (s *search) one(ctx context.Context, definition *lsv1alpha1.ImportDefinition) (bool, error) {
	switch {
	case s.given.has(definition.Name):
		return true, s.takeGiven(ctx, definition)
	case s.ask != nil && !s.given.stdin:
		return s.question(ctx, definition)
	case definition.IsRequired():
		s.missing = append(s.missing, definition)
		return false, nil
	}
	return hasDefault(definition), nil
}

// takeGiven keeps the value that a flag gives to an import.
func (s *search) takeGiven(ctx context.Context, definition *lsv1alpha1.ImportDefinition) error {
	isData := dataflow.TypeOf(&definition.FieldValueDefinition) == lsv1alpha1.ImportTypeData
	value, isValue := s.given.values[definition.Name]
	dataObject, isReference := s.given.dataObjects[definition.Name]
	switch {
	case (isValue || isReference) && !isData:
		return fmt.Errorf("import %s is a target: give it with --target %s", definition.Name, form(definition))
	case !isValue && !isReference && isData:
		return fmt.Errorf("import %s is data: give it with %s", definition.Name, flagFor(definition))
	case isReference:
		return s.takeReference(ctx, definition, dataObject)
	case isValue:
		if err := s.takeData(definition, value); err != nil {
			return fmt.Errorf("%s %s: %w", value.flag, definition.Name, err)
		}
		return nil
	}
	if err := s.takeTarget(definition, s.given.targetNames[definition.Name]); err != nil {
		return fmt.Errorf("--target %s: %w", definition.Name, err)
	}
	return nil
}

// takeReference keeps the name of a DataObject. The value that it has now is checked, without showing it.
func (s *search) takeReference(ctx context.Context, definition *lsv1alpha1.ImportDefinition, name string) error {
	value, readable, err := s.dataObject(ctx, name)
	if err != nil {
		return err
	}
	if readable {
		if err := s.validate(definition, value); err != nil {
			return fmt.Errorf("--data %s: DataObject %s: %w", definition.Name, name, err)
		}
	}
	s.found.data = append(s.found.data, dataImport{name: definition.Name, dataObject: name})
	return nil
}

// takeExports keeps where exports go. The blueprint says whether they are data or Targets.
func (s *search) takeExports() error {
	exports := s.opened.Blueprint.Exports
	var known []string
	for i := range exports {
		known = append(known, exports[i].Name)
		object, given := s.given.exported[exports[i].Name]
		switch {
		case !given:
		case dataflow.TypeOf(&exports[i].FieldValueDefinition) == lsv1alpha1.ImportTypeTarget:
			s.found.exports.Targets = append(s.found.exports.Targets, lsv1alpha1.TargetExport{Name: exports[i].Name, Target: object})
		default:
			s.found.exports.Data = append(s.found.exports.Data, lsv1alpha1.DataExport{Name: exports[i].Name, DataRef: object})
		}
	}
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(s.given.exported)), func(name string) bool { return slices.Contains(known, name) })
	switch {
	case len(unknown) == 0:
		return nil
	case len(known) == 0:
		return fmt.Errorf("the blueprint has no exports, but these are given: %s", list(unknown))
	}
	return fmt.Errorf("the blueprint has no export of this name: %s; it has %s", list(unknown), list(known))
}

func hasDefault(definition *lsv1alpha1.ImportDefinition) bool {
	return definition.Default != nil && !definition.Default.Value.IsNull()
}

// takeData checks a text against the schema of an import, and keeps the value that it means. Errors do not contain it.
func (s *search) takeData(definition *lsv1alpha1.ImportDefinition, written text) error {
	secret := written.secret || confidential(definition)
	content, err := s.given.content(s.env, written.written)
	if err != nil {
		return unreadable(err, secret)
	}
	var first error
	for _, value := range meanings(content) {
		encoded, err := s.checked(definition, value)
		if err == nil {
			s.found.data = append(s.found.data, dataImport{name: definition.Name, content: encoded, secret: secret})
			return nil
		}
		if first == nil {
			first = err
		}
	}
	return first
}

// unreadable is the error for a file that cannot be read. If its name may be a secret that begins with @, it is not shown.
func unreadable(err error, secret bool) error {
	var path *fs.PathError
	if secret && errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf(`%w; @ stands for the content of a file: a text that begins with it needs quotes, as in '"@text"'`, err)
}

// checked returns a value as a ConfigMap holds it, if the controllers read the same there, and if it matches the schema.
func (s *search) checked(definition *lsv1alpha1.ImportDefinition, value any) ([]byte, error) {
	encoded, err := json.Marshal(value)
	if err != nil {
		return nil, errors.New("the value has no JSON form")
	}
	read, err := dataflow.DecodeContent(encoded)
	if err != nil {
		return nil, errors.New("the value contains characters that YAML does not allow")
	}
	if text, isText := value.(string); isText && !reflect.DeepEqual(read, text) {
		return nil, errors.New("the value contains characters that YAML does not allow")
	}
	return encoded, s.validate(definition, read)
}

// validate checks a value against the schema of an import, if it has one.
func (s *search) validate(definition *lsv1alpha1.ImportDefinition, value any) error {
	if definition.Schema == nil || definition.Schema.IsNull() {
		return nil
	}
	return s.opened.Validate(fmt.Sprintf("import %q", definition.Name), *definition.Schema, value)
}

// confidential reports whether the schema of an import says that its value is secret.
func confidential(definition *lsv1alpha1.ImportDefinition) bool {
	if definition.Schema == nil {
		return false
	}
	var schema struct {
		Format    string `json:"format"`
		WriteOnly bool   `json:"writeOnly"`
	}
	return json.Unmarshal(definition.Schema.Raw, &schema) == nil && (schema.WriteOnly || schema.Format == "password")
}

// takeTarget keeps the Targets that a text names.
func (s *search) takeTarget(definition *lsv1alpha1.ImportDefinition, written string) error {
	imported, names, ok := targetsIn(definition, written)
	if !ok || slices.ContainsFunc(names, func(name string) bool { return !canRefer(name) }) {
		return fmt.Errorf("write %s", form(definition))
	}
	for _, name := range names {
		// What others export need not have the name of an object.
		s.found.targets = append(s.found.targets, wantedTarget{
			imported: definition.Name, name: dataflow.Scope{}.ObjectName(name), targetType: dataflow.TargetTypeOf(&definition.FieldValueDefinition),
		})
	}
	s.found.targetImports = append(s.found.targetImports, imported)
	return nil
}

// targetsIn takes a text apart that names Targets in the form of their import.
func targetsIn(definition *lsv1alpha1.ImportDefinition, written string) (imported lsv1alpha1.TargetImport, names []string, ok bool) {
	imported.Name = definition.Name
	if written != "" {
		names = strings.Split(strings.ReplaceAll(written, ", ", ","), ",")
	}
	switch dataflow.TypeOf(&definition.FieldValueDefinition) {
	case lsv1alpha1.ImportTypeTargetList:
		imported.Targets = append([]string{}, names...) // An empty list is a value, too.
	case lsv1alpha1.ImportTypeTargetMap:
		imported.TargetMap = map[string]string{}
		for i, entry := range names {
			key, name, found := strings.Cut(entry, ":")
			if !found || key == "" || imported.TargetMap[key] != "" {
				return imported, nil, false
			}
			imported.TargetMap[key], names[i] = name, name
		}
		return imported, names, len(names) > 0
	default:
		imported.Target, names = written, []string{written}
	}
	return imported, names, true
}

// form is how a user writes the Targets of an import.
func form(definition *lsv1alpha1.ImportDefinition) string {
	return connect.Quote(display.Clean(definition.Name) + "=" + targetForm(definition))
}

func targetForm(definition *lsv1alpha1.ImportDefinition) string {
	switch dataflow.TypeOf(&definition.FieldValueDefinition) {
	case lsv1alpha1.ImportTypeTargetList:
		return "TARGET,TARGET"
	case lsv1alpha1.ImportTypeTargetMap:
		return "KEY:TARGET,KEY:TARGET"
	}
	return "TARGET"
}

// lacking is the error for imports that nobody has given.
func (s *search) lacking() error {
	problem := &cli.Problem{Code: cli.ExitError}
	var names []string
	for _, definition := range s.missing {
		names = append(names, definition.Name)
		problem.Next = append(problem.Next, "add "+flagFor(definition)+"  ("+describe(definition)+")")
	}
	problem.What = "the blueprint needs imports that are not given: " + list(names)
	return problem
}

func flagFor(definition *lsv1alpha1.ImportDefinition) string {
	switch {
	case dataflow.TypeOf(&definition.FieldValueDefinition) != lsv1alpha1.ImportTypeData:
		return "--target " + form(definition)
	case confidential(definition):
		return "--secret " + connect.Quote(display.Clean(definition.Name)+"=@FILE")
	}
	return "--import " + connect.Quote(display.Clean(definition.Name)+"=VALUE")
}
