// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"maps"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Facts are the objects that were found in the namespace. A requested object that is not among them does not exist; a failure to
// read must be handled beforehand.
type Facts struct {
	DataObjects []*lsv1alpha1.DataObject
	// Targets are single targets and the elements of lists and maps.
	Targets []*lsv1alpha1.Target
	// Secrets and ConfigMaps are contents by name.
	Secrets, ConfigMaps map[string]map[string][]byte
}

// ConfigMapContent returns all contents of a ConfigMap, text or not.
func ConfigMapContent(data map[string]string, binaryData map[string][]byte) map[string][]byte {
	content := make(map[string][]byte, len(data)+len(binaryData))
	maps.Copy(content, binaryData)
	for key, text := range data {
		content[key] = []byte(text)
	}
	return content
}

// index makes the facts accessible by name.
type index struct {
	Facts
	dataObjects map[string]*lsv1alpha1.DataObject
	targets     map[string]*lsv1alpha1.Target
}

func newIndex(facts Facts) *index {
	i := &index{Facts: facts, dataObjects: map[string]*lsv1alpha1.DataObject{}, targets: map[string]*lsv1alpha1.Target{}}
	for _, object := range facts.DataObjects {
		i.dataObjects[object.Name] = object
	}
	for _, target := range facts.Targets {
		i.targets[target.Name] = target
	}
	return i
}
