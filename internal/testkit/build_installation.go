// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package testkit

import (
	"path"
	"strings"

	landscaper "espalier.dev/api/landscaper/v1alpha1"
)

// InstallationBuilder builds an Installation.
type InstallationBuilder struct {
	metadata[*InstallationBuilder]
	installation *landscaper.Installation
	files        map[string]any // the inline blueprint's folder, as a tree
}

// Installation starts an Installation in the job flow whose blueprint does nothing.
func Installation(namespace, name string) *InstallationBuilder {
	b := &InstallationBuilder{installation: &landscaper.Installation{ObjectMeta: objectMeta(namespace, name)}, files: map[string]any{}}
	b.metadata = metadata[*InstallationBuilder]{object: b.installation, builder: b}
	return b.Blueprint("apiVersion: landscaper.gardener.cloud/v1alpha1\nkind: Blueprint\n")
}

// Blueprint sets the inline blueprint: the text of its blueprint.yaml.
func (b *InstallationBuilder) Blueprint(text string) *InstallationBuilder {
	return b.BlueprintFile(landscaper.BlueprintFileName, text)
}

// BlueprintFile adds a file to the inline blueprint.
func (b *InstallationBuilder) BlueprintFile(file, text string) *InstallationBuilder {
	folder := b.files
	if dir := path.Dir(file); dir != "." {
		for part := range strings.SplitSeq(dir, "/") {
			if _, found := folder[part]; !found {
				folder[part] = map[string]any{}
			}
			folder = folder[part].(map[string]any)
		}
	}
	folder[path.Base(file)] = text
	b.installation.Spec.Blueprint = landscaper.BlueprintDefinition{Inline: &landscaper.InlineBlueprint{Filesystem: anyJSON(b.files)}}
	return b
}

// BlueprintRef sets a resource of the component as the blueprint instead.
func (b *InstallationBuilder) BlueprintRef(resource string) *InstallationBuilder {
	b.installation.Spec.Blueprint = landscaper.BlueprintDefinition{Reference: &landscaper.RemoteBlueprintReference{ResourceName: resource}}
	return b
}

// Component sets the component version.
func (b *InstallationBuilder) Component(name, version string) *InstallationBuilder {
	reference := &landscaper.ComponentDescriptorReference{ComponentName: name, Version: version}
	b.installation.Spec.ComponentDescriptor = &landscaper.ComponentDescriptorDefinition{Reference: reference}
	return b
}

// Context sets the Context.
func (b *InstallationBuilder) Context(name string) *InstallationBuilder {
	b.installation.Spec.Context = name
	return b
}

// Continuous chooses the continuous flow.
func (b *InstallationBuilder) Continuous() *InstallationBuilder {
	b.installation.Spec.Flow = landscaper.FlowContinuous
	return b
}

// ImportData imports the data object that dataRef names.
func (b *InstallationBuilder) ImportData(name, dataRef string) *InstallationBuilder {
	return b.importData(landscaper.DataImport{Name: name, DataRef: dataRef})
}

// ImportSecret imports a key of a Secret; without a key, all of it.
func (b *InstallationBuilder) ImportSecret(name, secret, key string) *InstallationBuilder {
	return b.importData(landscaper.DataImport{Name: name, SecretRef: &landscaper.LocalSecretReference{Name: secret, Key: key}})
}

// ImportConfigMap imports a key of a ConfigMap; without a key, all of it.
func (b *InstallationBuilder) ImportConfigMap(name, configMap, key string) *InstallationBuilder {
	return b.importData(landscaper.DataImport{Name: name, ConfigMapRef: &landscaper.LocalConfigMapReference{Name: configMap, Key: key}})
}

func (b *InstallationBuilder) importData(data landscaper.DataImport) *InstallationBuilder {
	b.installation.Spec.Imports.Data = append(b.installation.Spec.Imports.Data, data)
	return b
}

// ImportTarget imports one Target.
func (b *InstallationBuilder) ImportTarget(name, target string) *InstallationBuilder {
	return b.importTarget(landscaper.TargetImport{Name: name, Target: target})
}

// ImportTargets imports a list of Targets, which may be empty.
func (b *InstallationBuilder) ImportTargets(name string, targets ...string) *InstallationBuilder {
	return b.importTarget(landscaper.TargetImport{Name: name, Targets: append([]string{}, targets...)})
}

func (b *InstallationBuilder) importTarget(target landscaper.TargetImport) *InstallationBuilder {
	b.installation.Spec.Imports.Targets = append(b.installation.Spec.Imports.Targets, target)
	return b
}

// MapImport adds an import data mapping; the expression is any value, with spiff inside.
func (b *InstallationBuilder) MapImport(name string, expression any) *InstallationBuilder {
	if b.installation.Spec.ImportDataMappings == nil {
		b.installation.Spec.ImportDataMappings = map[string]landscaper.AnyJSON{}
	}
	b.installation.Spec.ImportDataMappings[name] = anyJSON(expression)
	return b
}

// MapExport adds an export data mapping.
func (b *InstallationBuilder) MapExport(name string, expression any) *InstallationBuilder {
	if b.installation.Spec.ExportDataMappings == nil {
		b.installation.Spec.ExportDataMappings = map[string]landscaper.AnyJSON{}
	}
	b.installation.Spec.ExportDataMappings[name] = anyJSON(expression)
	return b
}

// ExportData exports to the data object that dataRef names.
func (b *InstallationBuilder) ExportData(name, dataRef string) *InstallationBuilder {
	b.installation.Spec.Exports.Data = append(b.installation.Spec.Exports.Data, landscaper.DataExport{Name: name, DataRef: dataRef})
	return b
}

// ExportTarget exports to a Target.
func (b *InstallationBuilder) ExportTarget(name, target string) *InstallationBuilder {
	b.installation.Spec.Exports.Targets = append(b.installation.Spec.Exports.Targets, landscaper.TargetExport{Name: name, Target: target})
	return b
}

// Reconcile requests a job.
func (b *InstallationBuilder) Reconcile() *InstallationBuilder {
	return b.Annotate(landscaper.OperationAnnotation, string(landscaper.OperationReconcile))
}

// Build returns a new copy of the installation.
func (b *InstallationBuilder) Build() *landscaper.Installation { return b.installation.DeepCopy() }
