// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"espalier.dev/api/deployer"
	"espalier.dev/api/deployer/manifest/v1alpha1"
	"espalier.dev/api/deployer/manifest/v1alpha2"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/export"
	"espalier.dev/internal/deployer/objects/inventory"
	"espalier.dev/internal/deployer/objects/providerconfig"
	"espalier.dev/internal/deployer/objects/prune"
	"espalier.dev/internal/deployer/objects/readiness"
	"espalier.dev/internal/schedule"
)

// maxObjects is how many objects an item may have.
const maxObjects = 2000

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

func validate(config *configuration, problems *providerconfig.Problems) {
	if allowed := strategies[config.APIVersion]; config.UpdateStrategy != "" && !slices.Contains(allowed, config.UpdateStrategy) {
		problems.Add("updateStrategy", "is %q, %s", config.UpdateStrategy, providerconfig.OneOf(allowed))
	}
	for i, m := range config.Manifests {
		validateManifest(fmt.Sprintf("manifests[%d]", i), m, problems)
	}
	validateObjects(config.objects, problems)
	readiness.Validate(config.ReadinessChecks.Custom, problems)
	if config.Exports != nil {
		export.Validate(config.Exports.Exports, problems)
	}
	validateContinuous(config.ContinuousReconcile, problems)
	prune.Validate("deletionGroups", config.DeletionGroups, problems)
	prune.Validate("deletionGroupsDuringUpdate", config.DeletionGroupsDuringUpdate, problems)
}

func validateManifest(path string, m deployer.Manifest, problems *providerconfig.Problems) {
	if m.Policy != "" && !slices.Contains(policies, m.Policy) {
		problems.Add(path+".policy", "is %q, %s", m.Policy, providerconfig.OneOf(policies))
	}
	validatePatch(path+".patchAfterDeployment", m.PatchAfterDeployment, problems)
	validatePatch(path+".patchBeforeDelete", m.PatchBeforeDelete, problems)
}

func validatePatch(path string, patch *runtime.RawExtension, problems *providerconfig.Problems) {
	if patch == nil || len(patch.Raw) == 0 {
		return
	}
	var content map[string]any
	if json.Unmarshal(patch.Raw, &content) != nil {
		problems.Add(path, "is not a JSON object: write a merge patch")
	}
}

func validateObjects(objects []apply.Object, problems *providerconfig.Problems) {
	if len(objects) > maxObjects {
		problems.Add("manifests", "has %d objects, at most %d are allowed: use several deploy items", len(objects), maxObjects)
		return
	}
	first := map[inventory.Key]string{}
	for _, o := range objects {
		path := strings.TrimPrefix(o.Path, providerconfig.Root+".")
		if !validateObject(path, o, problems) {
			continue
		}
		if earlier, twice := first[o.Key()]; twice {
			problems.Add(path, "is the same object as %s", earlier)
			continue
		}
		first[o.Key()] = o.Path
	}
}

func validateObject(path string, o apply.Object, problems *providerconfig.Problems) bool {
	before := len(*problems)
	if _, err := schema.ParseGroupVersion(o.Manifest.GetAPIVersion()); err != nil || o.Manifest.GetAPIVersion() == "" {
		problems.Add(path+".apiVersion", "is missing or malformed")
	}
	validateKind(path, o.Manifest.GetKind(), problems)
	if strings.HasSuffix(o.Manifest.GetKind(), "List") && o.Manifest.IsList() {
		problems.Add(path+".kind", "is a list within a list")
	}
	validateName(path, o, problems)
	return len(*problems) == before
}

var kindForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)

// validateKind keeps out what cannot be a kind: the inventory in the status names kinds.
func validateKind(path, kind string, problems *providerconfig.Problems) {
	switch {
	case kind == "":
		problems.Add(path+".kind", "is missing")
	case !kindForm.MatchString(kind):
		problems.Add(path+".kind", "is not a kind: it must begin with a letter and consist of letters and digits")
	}
}

// validateName keeps out what no API server accepts as a name: the inventory in the status names objects before they are
// created.
func validateName(path string, o apply.Object, problems *providerconfig.Problems) {
	name, namespace := o.Manifest.GetName(), o.Manifest.GetNamespace()
	wrong := validation.IsDNS1123Subdomain(name)
	if !usesOrdinaryNames(o.Manifest.GroupVersionKind().Group) {
		wrong = content.IsPathSegmentName(name)
	}
	switch {
	case name == "":
		problems.Add(path+".metadata.name", "is missing: a deploy item needs to know its objects by name")
	case len(wrong) > 0:
		problems.Add(path+".metadata.name", "is not a name: %s", wrong[0])
	}
	if namespace != "" && len(validation.IsDNS1123Label(namespace)) > 0 {
		problems.Add(path+".metadata.namespace", "is not the name of a namespace: use lower-case letters, digits and '-', at most 63 of them")
	}
}

// usesOrdinaryNames reports whether the names in a group of the API are those of the DNS. Roles have others, and so may
// what other API servers serve.
func usesOrdinaryNames(group string) bool {
	switch group {
	case "", "apps", "batch", "autoscaling", "policy":
		return true
	}
	return false
}

func validateContinuous(continuous *deployer.ContinuousReconcile, problems *providerconfig.Problems) {
	if continuous == nil {
		return
	}
	if (continuous.Cron == "") == (continuous.Every == nil) {
		problems.Add("continuousReconcile", "needs either cron or every")
		return
	}
	plan := schedule.Plan{Cron: continuous.Cron, Every: continuous.Every}
	if _, _, err := plan.Next(time.Time{}); err != nil {
		problems.Add("continuousReconcile", "%v", err)
	}
}
