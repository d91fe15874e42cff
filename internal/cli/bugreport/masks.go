// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package bugreport

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/masking"
)

// helmRelease is the type of Secrets in which Helm keeps releases: packed, and so large that searching for them takes minutes. Nobody
// quotes them.
const helmRelease = "helm.sh/release.v1"

// readValues collects what no text of the report may show. It is unknown if one of the kinds cannot be listed.
func readValues(ctx context.Context, c client.Reader, namespaces ...string) *masking.Values {
	values := &masking.Values{}
	for _, namespace := range namespaces {
		if err := addValues(ctx, c, values, namespace); err != nil {
			return masking.Unknown(err)
		}
	}
	return values
}

func addValues(ctx context.Context, c client.Reader, values *masking.Values, namespace string) error {
	within := client.InNamespace(namespace)
	var secrets corev1.SecretList
	var targets lsv1alpha1.TargetList
	var data lsv1alpha1.DataObjectList
	for _, list := range []client.ObjectList{&secrets, &targets, &data} {
		if err := c.List(ctx, list, within); err != nil {
			return fmt.Errorf("list the values to mask: %w", err)
		}
	}
	for _, secret := range secrets.Items {
		if secret.Type != helmRelease {
			values.AddSecret(secret.Data)
			values.AddCredentials(secret.Data)
		}
	}
	for i := range targets.Items {
		values.AddTarget(&targets.Items[i])
	}
	for _, object := range data.Items {
		values.AddText(string(object.Data.Raw))
	}
	return nil
}

// shown are the fields of objects that a report keeps, by kind; those of "" are kept of all kinds. A star stands for every entry of a list or
// map. Everything else is masked together with what is below it, names of fields included.
var shown = map[string][]string{
	"": {
		"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.generation", "metadata.resourceVersion",
		"metadata.creationTimestamp", "metadata.deletionTimestamp", "metadata.finalizers.*",
		"metadata.ownerReferences.*.kind", "metadata.ownerReferences.*.name", "metadata.ownerReferences.*.uid",
		"status.phase", "status.phaseTransitionTime", "status.jobID", "status.jobIDFinished", "status.observedGeneration",
		"status.conditions.*.type", "status.conditions.*.status", "status.conditions.*.reason", "status.conditions.*.message",
		"status.conditions.*.lastTransitionTime", "status.conditions.*.observedGeneration",
		"status.lastError.reason", "status.lastError.operation", "status.lastError.message", "status.lastError.codes.*",
		"status.lastError.lastTransitionTime", "status.firstError.reason", "status.firstError.message",
		"status.deployer.identity", "status.deployer.name", "status.deployer.version", "status.lastReconcileTime",
		"status.exportRef.name", "status.executionRef.name", "status.lastErrors.*.reason", "status.lastErrors.*.message",
	},
	"Installation": {
		"spec.context", "spec.componentDescriptor.ref.componentName", "spec.componentDescriptor.ref.version", "spec.blueprint.ref.resourceName",
		"spec.imports.data.*.name", "spec.imports.data.*.dataRef", "spec.imports.targets.*.name", "spec.imports.targets.*.target",
		"spec.exports.data.*.name", "spec.exports.data.*.dataRef", "spec.exports.targets.*.name", "spec.exports.targets.*.target",
	},
	"Execution":  {"spec.context", "spec.deployItems.*.name", "spec.deployItems.*.type", "spec.deployItems.*.dependsOn.*"},
	"DeployItem": {"spec.type", "spec.target.name", "spec.context", "spec.timeout"},
	"Target":     {"spec.type", "spec.secretRef.name", "spec.secretRef.key"},
	"Pipeline": {
		"spec.appRef.apiVersion", "spec.appRef.kind", "spec.appRef.name", "spec.suspend", "spec.environments.*.name",
		"spec.environments.*.targets.*.namespace", "spec.environments.*.targets.*.clusterRef.kind", "spec.environments.*.targets.*.clusterRef.name",
		"status.latestRevision", "status.run.number", "status.run.revision", "status.run.startTime",
		"status.holds.*.environment", "status.holds.*.reason", "status.holds.*.message", "status.holds.*.revision", "status.holds.*.since",
	},
}

// ourMetadata is the prefix of our labels and annotations, whose values are names and words. Hashes and decisions are not shown.
var ourMetadata = []string{
	lsv1alpha1.OperationAnnotation, lsv1alpha1.SuspendAnnotation, lsv1alpha1.EncompassedByLabel, lsv1alpha1.ExecutionManagedByLabel,
	lsv1alpha1.ExecutionManagedNameLabel, lsv1alpha1.SubinstallationNameAnnotation,
}

// tree is a set of paths.
type tree map[string]tree

func treeOf(kind string) tree {
	all := tree{}
	for _, paths := range [][]string{shown[""], shown[kind]} {
		for _, path := range paths {
			at := all
			for _, part := range strings.Split(path, ".") {
				if at[part] == nil {
					at[part] = tree{}
				}
				at = at[part]
			}
		}
	}
	return all
}

// keep returns what a report shows of a value: what the tree names, without secrets.
func keep(value any, wanted tree, values *masking.Values) any {
	switch value := value.(type) {
	case map[string]any:
		return keepFields(value, wanted, values)
	case []any:
		return keepEntries(value, wanted, values)
	case string:
		if len(wanted) == 0 {
			return word(value, values)
		}
	default:
		if len(wanted) == 0 {
			return value
		}
	}
	return masking.Mask
}

func keepFields(value map[string]any, wanted tree, values *masking.Values) any {
	if len(wanted) == 0 {
		return masking.Mask
	}
	kept := map[string]any{}
	for key, inner := range value {
		below, found := wanted.below(key)
		told, isText := inner.(string)
		switch {
		case found && isText && key == "message":
			kept[key] = prose(told, values)
		case found:
			kept[key] = keep(inner, below, values)
		default:
			kept[key] = masking.Mask
		}
	}
	return kept
}

func keepEntries(value []any, wanted tree, values *masking.Values) any {
	below, found := wanted.below("*")
	if !found {
		return masking.Mask
	}
	kept := make([]any, len(value))
	for i, inner := range value {
		kept[i] = keep(inner, below, values)
	}
	return kept
}

func (t tree) below(key string) (tree, bool) {
	below, found := t[key]
	if !found {
		below, found = t["*"]
	}
	return below, found
}

// word masks a name, a time or an enumerated word: its text does not depend on values, unless somebody uses a password as a name.
func word(value string, values *masking.Values) string {
	if !values.Known() {
		return value
	}
	masked, _ := values.Value(value)
	told, _ := masked.(string)
	return told
}

// prose masks a text that may quote anything. Where it is not known what to mask, it is left out.
func prose(value string, values *masking.Values) string {
	if !values.Known() {
		return values.Text(value)
	}
	return word(value, values)
}

// facts is an object as the report shows it.
func facts(object map[string]any, kind string, values *masking.Values) map[string]any {
	kept, _ := keep(object, treeOf(kind), values).(map[string]any)
	metadata, _ := object["metadata"].(map[string]any)
	told, _ := kept["metadata"].(map[string]any)
	delete(told, "managedFields")
	for _, field := range []string{"labels", "annotations"} {
		delete(told, field)
		ours := map[string]any{}
		entries, _ := metadata[field].(map[string]any)
		for _, key := range ourMetadata {
			if value, found := entries[key].(string); found {
				ours[key] = word(value, values)
			}
		}
		if len(entries) > 0 {
			ours["others"] = len(entries) - len(ours)
			told[field] = ours
		}
	}
	return kept
}
