// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"espalier.dev/api/deployer"
	"espalier.dev/api/deployer/manifest/v1alpha1"
	"espalier.dev/api/deployer/manifest/v1alpha2"
	"espalier.dev/internal/deployer/apply"
	"espalier.dev/internal/deployer/inventory"
	"espalier.dev/internal/deployer/jsonpath"
	"espalier.dev/internal/schedule"
)

// Limits of a configuration.
const (
	maxObjects = 2000
	maxEntries = 500 // of checks, requirements, exports, groups
)

var (
	policies = []deployer.ManifestPolicy{
		deployer.PolicyManage, deployer.PolicyFallback, deployer.PolicyKeep, deployer.PolicyImmutable, deployer.PolicyIgnore,
	}
	strategies = map[string][]v1alpha2.UpdateStrategy{
		v1alpha1.SchemeGroupVersion.String(): {v1alpha2.UpdateStrategyUpdate, v1alpha2.UpdateStrategyPatch},
		v1alpha2.SchemeGroupVersion.String(): {
			v1alpha2.UpdateStrategyUpdate, v1alpha2.UpdateStrategyPatch, v1alpha2.UpdateStrategyMerge,
			v1alpha2.UpdateStrategyMergeOverwrite, v1alpha2.UpdateStrategyServerSideApply,
		},
	}
)

func validate(config *configuration, problems *problemList) {
	if allowed := strategies[config.APIVersion]; config.UpdateStrategy != "" && !slices.Contains(allowed, config.UpdateStrategy) {
		problems.add("updateStrategy", "is %q, must be one of %s", config.UpdateStrategy, list(allowed))
	}
	for i, m := range config.Manifests {
		validateManifest(fmt.Sprintf("manifests[%d]", i), m, problems)
	}
	validateObjects(config.objects, problems)
	validateChecks(config.ReadinessChecks.Custom, problems)
	if config.Exports != nil {
		validateExports(config.Exports.Exports, problems)
	}
	validateContinuous(config.ContinuousReconcile, problems)
	validateGroups("deletionGroups", config.DeletionGroups, problems)
	validateGroups("deletionGroupsDuringUpdate", config.DeletionGroupsDuringUpdate, problems)
}

func list[T ~string](values []T) string {
	var names []string
	for _, value := range values {
		names = append(names, string(value))
	}
	return strings.Join(names, ", ")
}

func validateManifest(path string, m deployer.Manifest, problems *problemList) {
	if m.Policy != "" && !slices.Contains(policies, m.Policy) {
		problems.add(path+".policy", "is %q, must be one of %s", m.Policy, list(policies))
	}
	validatePatch(path+".patchAfterDeployment", m.PatchAfterDeployment, problems)
	validatePatch(path+".patchBeforeDelete", m.PatchBeforeDelete, problems)
}

func validatePatch(path string, patch *runtime.RawExtension, problems *problemList) {
	if patch == nil || len(patch.Raw) == 0 {
		return
	}
	var content map[string]any
	if json.Unmarshal(patch.Raw, &content) != nil {
		problems.add(path, "is not a JSON object: write a merge patch")
	}
}

func validateObjects(objects []apply.Object, problems *problemList) {
	if len(objects) > maxObjects {
		problems.add("manifests", "has %d objects, at most %d are allowed: use several deploy items", len(objects), maxObjects)
		return
	}
	first := map[inventory.Key]string{}
	for _, o := range objects {
		path := strings.TrimPrefix(o.Path, "spec.config.")
		if !validateObject(path, o, problems) {
			continue
		}
		if earlier, twice := first[o.Key()]; twice {
			problems.add(path, "is the same object as %s", earlier)
			continue
		}
		first[o.Key()] = o.Path
	}
}

func validateObject(path string, o apply.Object, problems *problemList) bool {
	before := len(*problems)
	if _, err := schema.ParseGroupVersion(o.Manifest.GetAPIVersion()); err != nil || o.Manifest.GetAPIVersion() == "" {
		problems.add(path+".apiVersion", "is missing or malformed")
	}
	if o.Manifest.GetKind() == "" {
		problems.add(path+".kind", "is missing")
	}
	if strings.HasSuffix(o.Manifest.GetKind(), "List") && o.Manifest.IsList() {
		problems.add(path+".kind", "is a list within a list")
	}
	if o.Manifest.GetName() == "" {
		problems.add(path+".metadata.name", "is missing: a deploy item needs to know its objects by name")
	}
	return len(*problems) == before
}

func validateContinuous(continuous *deployer.ContinuousReconcile, problems *problemList) {
	if continuous == nil {
		return
	}
	if (continuous.Cron == "") == (continuous.Every == nil) {
		problems.add("continuousReconcile", "needs either cron or every")
		return
	}
	plan := schedule.Plan{Cron: continuous.Cron, Every: continuous.Every}
	if _, _, err := plan.Next(time.Time{}); err != nil {
		problems.add("continuousReconcile", "%v", err)
	}
}

func validateExports(exports []deployer.Export, problems *problemList) {
	if len(exports) > maxEntries {
		problems.add("exports.exports", "has %d entries, at most %d are allowed", len(exports), maxEntries)
		return
	}
	keys := map[string]bool{}
	for i, export := range exports {
		path := fmt.Sprintf("exports.exports[%d]", i)
		if export.Key == "" {
			problems.add(path+".key", "is missing")
		} else if keys[export.Key] {
			problems.add(path+".key", "%q is used twice", export.Key)
		}
		keys[export.Key] = true
		validatePath(path+".jsonPath", export.JSONPath, problems)
		validateSource(path, export, problems)
	}
}

func validateSource(path string, export deployer.Export, problems *problemList) {
	if from := export.FromResource; from == nil || from.APIVersion == "" || from.Kind == "" || from.Name == "" {
		problems.add(path+".fromResource", "must name an object by apiVersion, kind, name and, if it has one, namespace")
	}
	if ref := export.FromObjectReference; ref != nil {
		if ref.APIVersion == "" || ref.Kind == "" {
			problems.add(path+".fromObjectRef", "needs apiVersion and kind")
		}
		validatePath(path+".fromObjectRef.jsonPath", ref.JSONPath, problems)
	}
}

func validatePath(path, text string, problems *problemList) {
	if _, err := jsonpath.Parse(text); err != nil {
		problems.add(path, "%v", err)
	}
}
