// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Standard input in place of a file.
const (
	StdinPath = "-"
	stdinName = "standard input"
)

// maxFileBytes is the maximum size of a file of manifests.
const maxFileBytes = 64 << 20

// Manifests are objects that were read.
type Manifests struct {
	Installations []*lsv1alpha1.Installation
	DataObjects   []*lsv1alpha1.DataObject
	Targets       []*lsv1alpha1.Target
	Contexts      []*lsv1alpha1.Context
	Overwrites    []*lsv1alpha1.ComponentVersionOverwrites
	Secrets       []*corev1.Secret
	ConfigMaps    []*corev1.ConfigMap
	// Warnings name what has no effect: unused kinds, and unknown fields.
	Warnings []string

	namespace string
	// origins records where each object was read.
	origins map[objectKey]string
}

// objectKey identifies an object.
type objectKey struct{ kind, namespace, name string }

// NewManifests returns empty manifests. Objects without a namespace get the given one.
func NewManifests(namespace string) *Manifests {
	return &Manifests{namespace: namespace, origins: map[objectKey]string{}}
}

// ReadPaths reads files, the YAML and JSON files of directories, and standard input for "-".
func (m *Manifests) ReadPaths(paths []string, stdin io.Reader) error {
	if err := checkPaths(paths); err != nil {
		return err
	}
	for _, path := range paths {
		files, err := filesOf(path)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := m.readFile(file, stdin); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPaths rejects what would be read by mistake: the working directory for an empty name, which may come from an unset variable, and
// nothing for the second use of standard input.
func checkPaths(paths []string) error {
	stdin := 0
	for _, path := range paths {
		switch path {
		case "":
			return errors.New("read manifests: the name of a file is empty")
		case StdinPath:
			stdin++
		}
	}
	if stdin > 1 {
		return errors.New("read manifests: standard input is named twice, and can be read only once")
	}
	return nil
}

// filesOf returns the files that a path refers to.
func filesOf(path string) ([]string, error) {
	if path == StdinPath {
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	var files []string
	for _, entry := range entries {
		if !entry.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(entry.Name())) {
			files = append(files, filepath.Join(path, entry.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("read manifests: the directory %s has no files that end with .yaml, .yml or .json", path)
	}
	return files, nil
}

func (m *Manifests) readFile(path string, stdin io.Reader) error {
	name, reader := stdinName, stdin
	if path != StdinPath {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("read manifests: %w", err)
		}
		defer file.Close()
		name, reader = path, file
	}
	text, err := io.ReadAll(io.LimitReader(reader, maxFileBytes+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if len(text) > maxFileBytes {
		return fmt.Errorf("read %s: it has more than %d bytes", name, maxFileBytes)
	}
	return m.Add(name, text)
}

// Add adds the manifests in the text of a file.
func (m *Manifests) Add(file string, text []byte) error {
	documents, err := splitDocuments(file, text)
	if err != nil {
		return err
	}
	for _, d := range documents {
		if err := m.addDocument(d); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manifests) addDocument(d document) error {
	var head struct {
		metav1.TypeMeta `json:",inline"`

		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(d.json, &head); err != nil {
		return fmt.Errorf("%s: it must be an object with the texts apiVersion and kind", d.at)
	}
	switch {
	case head.Kind == "":
		return fmt.Errorf("%s: kind: is required", d.at)
	case head.APIVersion == "":
		return fmt.Errorf("%s: apiVersion: is required", d.at)
	case strings.HasSuffix(head.Kind, "List") && head.Items != nil:
		return m.addItems(d, head.Items)
	}
	if err := m.addObject(d, head.APIVersion, head.Kind); err != nil {
		return fmt.Errorf("%s: %s: %w", d.at, head.Kind, err)
	}
	return nil
}

func (m *Manifests) addItems(d document, items []json.RawMessage) error {
	for i, item := range items {
		if err := m.addDocument(document{at: fmt.Sprintf("%s, items[%d]", d.at, i), json: item}); err != nil {
			return err
		}
	}
	return nil
}

func (m *Manifests) addObject(d document, apiVersion, kind string) error {
	core, own := corev1.SchemeGroupVersion.String(), lsv1alpha1.SchemeGroupVersion.String()
	switch apiVersion + " " + kind {
	case own + " Installation":
		return collect(m, d, &lsv1alpha1.Installation{}, &m.Installations)
	case own + " DataObject":
		return collect(m, d, &lsv1alpha1.DataObject{}, &m.DataObjects)
	case own + " Target":
		return collect(m, d, &lsv1alpha1.Target{}, &m.Targets)
	case own + " Context":
		return collect(m, d, &lsv1alpha1.Context{}, &m.Contexts)
	case own + " ComponentVersionOverwrites":
		return collect(m, d, &lsv1alpha1.ComponentVersionOverwrites{}, &m.Overwrites)
	case core + " ConfigMap":
		return collect(m, d, &corev1.ConfigMap{}, &m.ConfigMaps)
	case core + " Secret":
		return collect(m, d, &corev1.Secret{}, &m.Secrets)
	}
	m.warn(d.at, "%s of %s is not used: there is nothing to render from it", kind, apiVersion)
	return nil
}

func (m *Manifests) warn(at, format string, args ...any) {
	m.Warnings = append(m.Warnings, at+": "+fmt.Sprintf(format, args...))
}

// collect decodes an object and adds it to those of its kind.
func collect[T metav1.Object](m *Manifests, d document, object T, into *[]T) error {
	warnings, err := decodeInto(d.json, object)
	if err != nil {
		return err
	}
	if object.GetName() == "" {
		return errors.New("metadata.name: is required")
	}
	if object.GetNamespace() == "" {
		object.SetNamespace(m.namespace)
	}
	key := keyOf(object)
	if other, taken := m.origins[key]; taken {
		return fmt.Errorf("%s/%s is given twice, the first time in %s", key.namespace, key.name, other)
	}
	m.origins[key] = d.at
	for _, warning := range warnings {
		m.warn(d.at, "%s %s/%s: %s", key.kind, key.namespace, key.name, warning)
	}
	*into = append(*into, object)
	return nil
}

func keyOf(object metav1.Object) objectKey {
	kind := strings.TrimPrefix(fmt.Sprintf("%T", object), "*")
	return objectKey{kind: kind[strings.LastIndex(kind, ".")+1:], namespace: object.GetNamespace(), name: object.GetName()}
}

// origin returns where an object was read; empty if it was rendered.
func (m *Manifests) origin(object metav1.Object) string { return m.origins[keyOf(object)] }
