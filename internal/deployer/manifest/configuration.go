// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"espalier.dev/api/deployer"
	"espalier.dev/api/deployer/manifest/v1alpha1"
	"espalier.dev/api/deployer/manifest/v1alpha2"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/objects/apply"
	"espalier.dev/internal/deployer/objects/documents"
	"espalier.dev/internal/deployer/objects/providerconfig"
	"espalier.dev/internal/deployer/objects/prune"
)

// configuration is an item's configuration, in any version, with its manifests as single objects.
type configuration struct {
	v1alpha2.ProviderConfiguration
	objects []apply.Object
}

// readConfiguration reads and checks the configuration of an item.
func readConfiguration(item *lsv1alpha1.DeployItem) (*configuration, error) {
	decoded, problems := decode(item.Spec.Configuration)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	config := &configuration{ProviderConfiguration: *decoded}
	config.objects = expand(decoded.Manifests, &problems)
	validate(config, &problems)
	return config, problems.Err()
}

// decode reads either version as the newer one.
func decode(raw *runtime.RawExtension) (*v1alpha2.ProviderConfiguration, providerconfig.Problems) {
	document, problems := providerconfig.Read(raw, v1alpha2.SchemeGroupVersion.String())
	if len(problems) > 0 {
		return nil, problems
	}
	switch document.APIVersion {
	case v1alpha1.SchemeGroupVersion.String():
		return decodeV1alpha1(document)
	case v1alpha2.SchemeGroupVersion.String():
		config := &v1alpha2.ProviderConfiguration{}
		return config, document.Decode(config)
	}
	problems.Add("apiVersion", "is %q, must be %s or %s", document.APIVersion, v1alpha2.SchemeGroupVersion, v1alpha1.SchemeGroupVersion)
	return nil, problems
}

func decodeV1alpha1(document *providerconfig.Document) (*v1alpha2.ProviderConfiguration, providerconfig.Problems) {
	var old v1alpha1.ProviderConfiguration
	if problems := document.Decode(&old); len(problems) > 0 {
		return nil, problems
	}
	config := &v1alpha2.ProviderConfiguration{
		TypeMeta: old.TypeMeta, UpdateStrategy: v1alpha2.UpdateStrategy(old.UpdateStrategy), ReadinessChecks: old.ReadinessChecks,
		Exports: old.Exports, DeletionGroups: old.DeletionGroups, DeletionGroupsDuringUpdate: old.DeletionGroupsDuringUpdate,
	}
	for i := range old.Manifests {
		config.Manifests = append(config.Manifests, deployer.Manifest{Manifest: &old.Manifests[i]})
	}
	return config, nil
}

// continuousReconcile returns when to repair the objects of an item; nil if never.
func continuousReconcile(item *lsv1alpha1.DeployItem) *deployer.ContinuousReconcile {
	var part struct {
		APIVersion          string                        `json:"apiVersion"`
		ContinuousReconcile *deployer.ContinuousReconcile `json:"continuousReconcile"`
	}
	if problems := providerconfig.ReadPart(item, &part); len(problems) > 0 || part.APIVersion != v1alpha2.SchemeGroupVersion.String() {
		return nil
	}
	return part.ContinuousReconcile
}

// deletionGroups returns the groups in which the objects of an item are deleted.
func deletionGroups(item *lsv1alpha1.DeployItem) ([]deployer.DeletionGroup, error) {
	var part struct {
		DeletionGroups []deployer.DeletionGroup `json:"deletionGroups"`
	}
	problems := providerconfig.ReadPart(item, &part)
	prune.Validate("deletionGroups", part.DeletionGroups, &problems)
	return part.DeletionGroups, problems.Err()
}

// expand converts the manifests to single objects; the objects of a List get its policy and all other settings.
func expand(manifests []deployer.Manifest, problems *providerconfig.Problems) []apply.Object {
	var result []apply.Object
	for i, m := range manifests {
		path := fmt.Sprintf("manifests[%d]", i)
		if m.Manifest == nil || len(m.Manifest.Raw) == 0 {
			problems.Add(path+".manifest", "is missing")
			continue
		}
		content := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(m.Manifest.Raw, &content.Object); err != nil || content.Object == nil {
			problems.Add(path+".manifest", "is not a JSON object")
			continue
		}
		for _, item := range documents.Items(content) {
			at := path + ".manifest" + item.Path
			if item.Object == nil {
				problems.Add(at, "is not an object")
				continue
			}
			result = append(result, apply.Object{
				Manifest: item.Object, Path: providerconfig.Root + "." + at, Policy: policyOrDefault(m.Policy),
				AnnotateBeforeCreate: m.AnnotateBeforeCreate, AnnotateBeforeDelete: m.AnnotateBeforeDelete,
				PatchAfterDeployment: m.PatchAfterDeployment, PatchBeforeDelete: m.PatchBeforeDelete,
			})
		}
	}
	return result
}

func policyOrDefault(policy deployer.ManifestPolicy) deployer.ManifestPolicy {
	if policy == "" {
		return deployer.PolicyManage
	}
	return policy
}
