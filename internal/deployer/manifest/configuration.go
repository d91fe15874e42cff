// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	sigsjson "sigs.k8s.io/json"

	"espalier.dev/api/deployer"
	"espalier.dev/api/deployer/manifest/v1alpha1"
	"espalier.dev/api/deployer/manifest/v1alpha2"
	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/deployer/apply"
	"espalier.dev/internal/failure"
)

// configuration is an item's configuration, whatever its version, with its manifests as single objects.
type configuration struct {
	v1alpha2.ProviderConfiguration
	objects []apply.Object
}

const kindConfiguration = "ProviderConfiguration"

// readConfiguration reads and checks the configuration of an item.
func readConfiguration(item *lsv1alpha1.DeployItem) (*configuration, error) {
	decoded, problems := decode(item.Spec.Configuration)
	if len(problems) > 0 {
		return nil, invalid(problems)
	}
	config := &configuration{ProviderConfiguration: *decoded}
	var found problemList
	config.objects = expand(decoded.Manifests, &found)
	validate(config, &found)
	if len(found) > 0 {
		return nil, invalid(found)
	}
	return config, nil
}

// problemList collects what is wrong with a configuration.
type problemList []string

func (p *problemList) add(path, format string, args ...any) {
	*p = append(*p, "spec.config."+path+": "+fmt.Sprintf(format, args...))
}

// maxProblems is how many problems a message lists.
const maxProblems = 10

func invalid(problems problemList) error {
	if more := len(problems) - maxProblems; more > 0 {
		problems = append(problems[:maxProblems:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return failure.NewTerminal(failure.Details{
		Operation: "ReadConfiguration", Reason: "InvalidConfiguration", Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, errors.New(strings.Join(problems, "; ")))
}

// decode reads either version as the newer one.
func decode(raw *runtime.RawExtension) (*v1alpha2.ProviderConfiguration, problemList) {
	if raw == nil || len(raw.Raw) == 0 {
		return nil, problemList{"spec.config: is missing: write a ProviderConfiguration of " + v1alpha2.SchemeGroupVersion.String()}
	}
	var header struct{ APIVersion, Kind string }
	content, err := readNumbersExactly(raw.Raw)
	if err != nil || json.Unmarshal(raw.Raw, &header) != nil {
		return nil, problemList{"spec.config: is not a JSON object"}
	}
	if header.Kind != kindConfiguration {
		return nil, problemList{fmt.Sprintf("spec.config.kind: is %q, must be %s", header.Kind, kindConfiguration)}
	}
	dropRetired(content)
	switch header.APIVersion {
	case v1alpha1.SchemeGroupVersion.String():
		return decodeV1alpha1(content)
	case v1alpha2.SchemeGroupVersion.String():
		config := &v1alpha2.ProviderConfiguration{}
		return config, decodeStrictly(content, config)
	}
	return nil, problemList{fmt.Sprintf("spec.config.apiVersion: is %q, must be %s or %s", header.APIVersion, v1alpha2.SchemeGroupVersion, v1alpha1.SchemeGroupVersion)}
}

// readNumbersExactly keeps numbers as they are written.
func readNumbersExactly(text []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var content map[string]any
	return content, decoder.Decode(&content)
}

func decodeV1alpha1(content map[string]any) (*v1alpha2.ProviderConfiguration, problemList) {
	var old v1alpha1.ProviderConfiguration
	if problems := decodeStrictly(content, &old); len(problems) > 0 {
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

// decodeStrictly names fields that the API does not know. Errors of the decoder name fields and types, not values.
func decodeStrictly(content map[string]any, into any) problemList {
	text, err := json.Marshal(content)
	if err != nil {
		return problemList{"spec.config: cannot be written as JSON"}
	}
	unknown, err := sigsjson.UnmarshalStrict(text, into)
	if err != nil {
		return problemList{"spec.config: " + err.Error()}
	}
	var problems problemList
	for _, each := range unknown {
		problems = append(problems, "spec.config: "+each.Error())
	}
	return problems
}

// dropRetired takes away fields that earlier versions of this API had. They have had no effect for long and still stand in
// configurations; whatever else is unknown is an error.
func dropRetired(content map[string]any) {
	delete(content, "deleteTimeout")
	dropFrom(content["readinessChecks"], "timeout")
	dropFrom(content["exports"], "defaultTimeout")
	checks, _ := content["readinessChecks"].(map[string]any)
	custom, _ := checks["custom"].([]any)
	exports, _ := content["exports"].(map[string]any)
	values, _ := exports["exports"].([]any)
	for _, each := range append(append([]any{}, custom...), values...) {
		dropFrom(each, "timeout")
	}
}

func dropFrom(value any, field string) {
	if fields, ok := value.(map[string]any); ok {
		delete(fields, field)
	}
}

// deletionGroups reads nothing but the groups, so that a configuration with a mistake elsewhere can be deleted.
func deletionGroups(item *lsv1alpha1.DeployItem) ([]deployer.DeletionGroup, error) {
	var part struct {
		DeletionGroups []deployer.DeletionGroup `json:"deletionGroups"`
	}
	if item.Spec.Configuration == nil || len(item.Spec.Configuration.Raw) == 0 {
		return nil, nil
	}
	if err := json.Unmarshal(item.Spec.Configuration.Raw, &part); err != nil {
		return nil, invalid(problemList{"spec.config.deletionGroups: cannot be read: " + err.Error()})
	}
	var problems problemList
	validateGroups("deletionGroups", part.DeletionGroups, &problems)
	if len(problems) > 0 {
		return nil, invalid(problems)
	}
	return part.DeletionGroups, nil
}

// expand makes single objects of the manifests; those of a List get its policy and everything else.
func expand(manifests []deployer.Manifest, problems *problemList) []apply.Object {
	var result []apply.Object
	for i, m := range manifests {
		path := fmt.Sprintf("manifests[%d]", i)
		if m.Manifest == nil || len(m.Manifest.Raw) == 0 {
			problems.add(path+".manifest", "is missing")
			continue
		}
		content := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(m.Manifest.Raw, &content.Object); err != nil || content.Object == nil {
			problems.add(path+".manifest", "is not a JSON object")
			continue
		}
		for at, object := range items(content, path+".manifest", problems) {
			result = append(result, apply.Object{
				Manifest: object, Path: "spec.config." + at, Policy: policyOrDefault(m.Policy),
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

// items yields the objects of a List, or the object itself, with their paths.
func items(content *unstructured.Unstructured, path string, problems *problemList) func(yield func(string, *unstructured.Unstructured) bool) {
	return func(yield func(string, *unstructured.Unstructured) bool) {
		if !strings.HasSuffix(content.GetKind(), "List") || !content.IsList() {
			yield(path, content)
			return
		}
		list, _ := content.Object["items"].([]any)
		for i, item := range list {
			at := fmt.Sprintf("%s.items[%d]", path, i)
			fields, ok := item.(map[string]any)
			if !ok {
				problems.add(at, "is not an object")
				continue
			}
			if !yield(at, itemOf(content, fields)) {
				return
			}
		}
	}
}

// itemOf fills in the kind, which items of a typed list leave out.
func itemOf(list *unstructured.Unstructured, fields map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: fields}
	if kind, typed := strings.CutSuffix(list.GetKind(), "List"); typed && kind != "" && object.GetKind() == "" {
		object.SetKind(kind)
		object.SetAPIVersion(list.GetAPIVersion())
	}
	return object
}
