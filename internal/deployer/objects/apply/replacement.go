// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"espalier.dev/internal/deployer/objects/cluster"
)

// carriedOver are fields that the cluster fills in and that cannot, or should not, be removed because a manifest omits them.
// They are keyed by group and kind.
var carriedOver = map[string][]string{
	"apps/Deployment":        {"spec.replicas"},
	"apps/StatefulSet":       {"spec.replicas"},
	"apps/ReplicaSet":        {"spec.replicas"},
	"/ReplicationController": {"spec.replicas"},
	"/PersistentVolume":      {"spec.claimRef"},
	"/PersistentVolumeClaim": {"spec.volumeName", "spec.storageClassName", "spec.volumeMode", "spec.dataSource", "spec.dataSourceRef"},
	"/ServiceAccount":        {"secrets", "imagePullSecrets"},
}

// completed are kinds whose spec the cluster completes with many immutable fields.
var completed = []string{"/Pod", "batch/Job"}

// replacement returns the manifest with the parts of the existing object that must stay: fields that the cluster has set, and the
// labels, annotations and finalizers of other clients.
func replacement(o Object, live, desired *unstructured.Unstructured) *unstructured.Unstructured {
	result := desired.DeepCopy()
	result.SetResourceVersion(live.GetResourceVersion())
	result.SetUID(live.GetUID())
	keepMetadata(o, result, live)
	kind := result.GroupVersionKind().Group + "/" + result.GetKind()
	for _, path := range append(slices.Clone(carriedOver[kind]), "status") {
		keepField(result, live, strings.Split(path, ".")...)
	}
	if slices.Contains(completed, kind) && result.Object["spec"] != nil {
		result.Object["spec"] = comparisonOf(result).overwritten(live.DeepCopy().Object["spec"], result.Object["spec"], []string{"spec"})
	}
	return result
}

func keepField(result, live *unstructured.Unstructured, path ...string) {
	if _, found, err := unstructured.NestedFieldNoCopy(result.Object, path...); found || err != nil {
		return
	}
	value, found, err := unstructured.NestedFieldCopy(live.Object, path...)
	if found && err == nil {
		// It fails only if a parent of the field in the manifest is not an object, which the API server rejects.
		_ = unstructured.SetNestedField(result.Object, value, path...)
	}
}

func keepMetadata(o Object, result, live *unstructured.Unstructured) {
	ours := ownMetadata(live)
	for name := range o.AnnotateBeforeCreate {
		delete(ours.annotations, name)
	}
	if labels := others(result.GetLabels(), live.GetLabels(), ours.labels); len(labels) > 0 {
		result.SetLabels(labels)
	}
	if annotations := others(result.GetAnnotations(), live.GetAnnotations(), ours.annotations); len(annotations) > 0 {
		result.SetAnnotations(annotations)
	}
	finalizers := result.GetFinalizers()
	for _, name := range live.GetFinalizers() {
		if !slices.Contains(finalizers, name) && !ours.finalizers[name] {
			finalizers = append(finalizers, name)
		}
	}
	if len(finalizers) > 0 {
		result.SetFinalizers(finalizers)
	}
	if len(result.GetOwnerReferences()) == 0 && len(live.GetOwnerReferences()) > 0 {
		result.SetOwnerReferences(live.GetOwnerReferences())
	}
}

// others adds to the desired entries those of the live object that are not ours.
func others(desired, live map[string]string, ours map[string]bool) map[string]string {
	result := map[string]string{}
	for name, value := range live {
		if !ours[name] {
			result[name] = value
		}
	}
	for name, value := range desired {
		result[name] = value
	}
	return result
}

// metadataNames are the labels, annotations and finalizers that a deployer has set.
type metadataNames struct{ labels, annotations, finalizers map[string]bool }

// ownMetadata returns the metadata that deployers of this project have set, according to the API server's records.
func ownMetadata(live *unstructured.Unstructured) metadataNames {
	names := metadataNames{labels: map[string]bool{}, annotations: map[string]bool{}, finalizers: map[string]bool{}}
	for _, record := range live.GetManagedFields() {
		if record.Manager != cluster.FieldManager || record.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Metadata struct {
				Labels      map[string]json.RawMessage `json:"f:labels"`
				Annotations map[string]json.RawMessage `json:"f:annotations"`
				Finalizers  map[string]json.RawMessage `json:"f:finalizers"`
			} `json:"f:metadata"`
		}
		if err := json.Unmarshal(record.FieldsV1.GetRawBytes(), &fields); err != nil {
			continue
		}
		collect(names.labels, fields.Metadata.Labels)
		collect(names.annotations, fields.Metadata.Annotations)
		for field := range fields.Metadata.Finalizers {
			if name, err := strconv.Unquote(strings.TrimPrefix(field, "v:")); err == nil {
				names.finalizers[name] = true
			}
		}
	}
	return names
}

func collect(names map[string]bool, fields map[string]json.RawMessage) {
	for field := range fields {
		if name, found := strings.CutPrefix(field, "f:"); found {
			names[name] = true
		}
	}
}
