// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// Run is the work for which an installation writes: a job, or an update in the continuous flow.
type Run struct {
	// Version distinguishes the objects of the run from others: the ID of the job, or the version of the update.
	Version string
	// Flow is the flow of the run. The objects below follow it too, regardless of what the spec requests for later.
	Flow lsv1alpha1.Flow
}

// Owner is the writer of context objects, and the run that it writes them for.
type Owner struct {
	Namespace, Name string
	UID             types.UID
	// JobID is the version of the run.
	JobID string
}

// Objects are context objects to write. Their names, labels and contents are final; everything else that an existing object has must be
// kept, except for labels and annotations of this API that are not listed here.
type Objects struct {
	DataObjects []*lsv1alpha1.DataObject
	Targets     []*lsv1alpha1.Target
}

// mark is the content of a context object's labels.
type mark struct {
	owner Owner
	// kind is the kind of the owner.
	kind string
	// context is the scope of the object, source its writer.
	context, source string
	// sourceType is import, export, or empty for what an execution collects.
	sourceType string
	// reference is the name of the object within the scope.
	reference string
	// index and key locate a target within a list or map.
	index, key string
}

// importMark marks an import of an installation in the scope that it opens.
func importMark(owner Owner, name string) mark {
	own := ContextOf(owner.Name)
	return mark{
		owner:      owner,
		kind:       kindInstallation,
		context:    own,
		source:     own,
		sourceType: lsv1alpha1.DataObjectSourceImport,
		reference:  name,
	}
}

// exportMark marks an export of an installation in the scope of the installation, or in the root scope if the reference is global.
func exportMark(owner Owner, scope Scope, reference string) mark {
	m := mark{
		owner:      owner,
		kind:       kindInstallation,
		context:    scope.Context(),
		source:     ContextOf(owner.Name),
		sourceType: lsv1alpha1.DataObjectSourceExport,
		reference:  reference,
	}
	if IsGlobal(reference) {
		m.context = ""
	}
	return m
}

const (
	kindInstallation = "Installation"
	kindExecution    = "Execution"
)

// objectMeta returns the metadata of a context object.
func (m mark) objectMeta(name string, hash string) metav1.ObjectMeta {
	labels := map[string]string{
		lsv1alpha1.DataObjectContextLabel:      m.context,
		lsv1alpha1.DataObjectSourceTypeLabel:   m.sourceType,
		lsv1alpha1.DataObjectSourceLabel:       m.source,
		lsv1alpha1.DataObjectKeyLabel:          keyLabel(m.reference),
		lsv1alpha1.DataObjectIndexLabel:        m.index,
		lsv1alpha1.DataObjectTargetMapKeyLabel: m.key,
		lsv1alpha1.DataObjectJobIDLabel:        m.owner.JobID,
	}
	maps.DeleteFunc(labels, func(_, value string) bool { return value == "" })
	return metav1.ObjectMeta{
		Name:        name,
		Namespace:   m.owner.Namespace,
		Labels:      labels,
		Annotations: map[string]string{lsv1alpha1.DataObjectHashAnnotation: hash},
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: m.kind, Name: m.owner.Name, UID: m.owner.UID,
		}},
	}
}

// keyLabel returns the reference in the form of a label, which cannot contain a #.
func keyLabel(reference string) string {
	if IsGlobal(reference) {
		return reference[len(globalPrefix):]
	}
	return reference
}

// dataObject returns the context object of a value.
func (m mark) dataObject(value any) (*lsv1alpha1.DataObject, error) {
	data, err := lsv1alpha1.NewAnyJSON(value)
	if err != nil {
		return nil, err
	}
	indented, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return nil, err
	}
	return &lsv1alpha1.DataObject{
		TypeMeta:   metav1.TypeMeta{APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: string(KindDataObject)},
		ObjectMeta: m.objectMeta(ObjectName(m.context, m.reference), contentHash(indented)),
		Data:       data,
	}, nil
}

// target returns the context object of a Target: a copy with its labels and annotations.
func (m mark) target(name string, original *lsv1alpha1.Target) *lsv1alpha1.Target {
	meta := m.objectMeta(name, contentHash(hashedContent(original.Spec)))
	meta.Labels = merged(ownMetadata(original.Labels), meta.Labels)
	meta.Annotations = merged(ownMetadata(original.Annotations), meta.Annotations)
	return &lsv1alpha1.Target{
		TypeMeta:   metav1.TypeMeta{APIVersion: lsv1alpha1.SchemeGroupVersion.String(), Kind: string(KindTarget)},
		ObjectMeta: meta,
		Spec:       *original.Spec.DeepCopy(),
	}
}

func merged(base, over map[string]string) map[string]string {
	result := maps.Clone(base)
	if result == nil {
		result = map[string]string{}
	}
	maps.Copy(result, over)
	return result
}

// hashedContent returns the part of a Target that the hash annotation covers: its configuration as it is written, or the reference to its
// Secret.
func hashedContent(spec lsv1alpha1.TargetSpec) []byte {
	switch {
	case spec.Configuration != nil:
		return spec.Configuration.Raw
	case spec.SecretRef != nil:
		text, err := json.Marshal(map[string]*lsv1alpha1.LocalSecretReference{"secretRef": spec.SecretRef})
		if err == nil {
			return text
		}
	}
	return nil
}

// contentHash returns the value of the hash annotation. It needs no key: users who can read the annotation can read the content.
func contentHash(content []byte) string {
	sum := sha1.Sum(content)
	return hex.EncodeToString(sum[:])
}
