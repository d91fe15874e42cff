// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	"espalier.dev/api/deployer"
	"espalier.dev/api/deployer/manifest/v1alpha1"
	"espalier.dev/api/deployer/manifest/v1alpha2"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/export"
	"espalier.dev/internal/deployer/objects/providerconfig"
	"espalier.dev/internal/deployer/objects/prune"
	"espalier.dev/internal/deployer/objects/readiness"
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
	providerconfig.ValidateContinuous(config.ContinuousReconcile, problems)
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
		problems.Add(path, "is not a JSON object: use a merge patch")
	}
}

func validateObjects(objects []apply.Object, problems *providerconfig.Problems) {
	if len(objects) > apply.MaxObjects {
		problems.Add("manifests", "has %d objects, at most %d are allowed: use several deploy items", len(objects), apply.MaxObjects)
		return
	}
	apply.Validate(objects, func(path, format string, args ...any) {
		problems.Add(strings.TrimPrefix(path, providerconfig.Root+"."), format, args...)
	})
}
