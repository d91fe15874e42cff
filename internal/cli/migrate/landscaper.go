// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/cli/check"
	"espalier.dev/internal/component/credentials"
)

// collection is reported once, not for each object.
type collection struct {
	// types are those of deploy items for which Espalier has no deployer.
	types map[lsv1alpha1.DeployItemType]sample
	// seen are the blueprints that were checked, by their digest.
	seen map[[sha256.Size]byte]bool
	// lenient are blueprints whose Go templates may look up what does not exist, remote those that are not in the cluster.
	lenient, remote sample
}

// sample is a number of objects, and the first of them.
type sample struct {
	count int
	first string
	// deployer is who has picked up deploy items of a type.
	deployer string
}

func (s *sample) add(object string) {
	if s.count++; s.first == "" {
		s.first = object
	}
}

func (s sample) String() string {
	if s.count == 1 {
		return s.first
	}
	return fmt.Sprintf("%s and %d more", s.first, s.count-1)
}

func newCollection() collection {
	return collection{types: map[lsv1alpha1.DeployItemType]sample{}, seen: map[[sha256.Size]byte]bool{}}
}

func visitInstallation(_ context.Context, e *examination, object *unstructured.Unstructured) error {
	installation := &lsv1alpha1.Installation{}
	if !e.read(object, installation) {
		return nil
	}
	title := titleOf(object)
	if installation.Spec.AutomaticReconcile != nil {
		e.add(Finding{
			Level: Note, Code: codeAutomatic, Object: title,
			Message: "has spec.automaticReconcile: Espalier starts its next job when it is due, as Landscaper does",
		})
	}
	if reference := componentOf(installation); reference != nil && isLocal(reference.RepositoryContext) {
		e.localComponents(title)
	}
	inline := installation.Spec.Blueprint.Inline
	if inline == nil {
		e.collected.remote.add(title)
		return nil
	}
	e.blueprint(object, inline)
	return nil
}

func componentOf(installation *lsv1alpha1.Installation) *lsv1alpha1.ComponentDescriptorReference {
	if installation.Spec.ComponentDescriptor == nil {
		return nil
	}
	return installation.Spec.ComponentDescriptor.Reference
}

// isLocal tells components in a directory of the controllers from those in a registry.
func isLocal(repository *lsv1alpha1.AnyJSON) bool {
	var typed struct {
		Type string `json:"type"`
	}
	return repository != nil && repository.Decode(&typed) == nil && typed.Type == "local"
}

func (e *examination) localComponents(title string) {
	e.add(Finding{
		Level: check.Doubtful, Code: codeLocalComponents, Object: title,
		Message: "reads components from a directory of the controllers (type local)",
		Next:    []string{"mount the directory into espalier-controller, and name it with --components-dir"},
	})
}

// blueprint checks each blueprint once, however many installations have it.
func (e *examination) blueprint(object *unstructured.Unstructured, inline *lsv1alpha1.InlineBlueprint) {
	digest := sha256.Sum256(inline.Filesystem.Raw)
	if e.collected.seen[digest] {
		return
	}
	e.collected.seen[digest] = true
	files, err := blueprint.InlineFiles(inline.Filesystem)
	if err != nil {
		e.badBlueprint(check.Wrong, object, []string{err.Error()})
		return
	}
	findings := blueprint.Check(files)
	if len(findings.Errors) > 0 {
		e.badBlueprint(check.Wrong, object, findings.Errors)
		return
	}
	if len(findings.Warnings) > 0 {
		e.badBlueprint(check.Doubtful, object, findings.Warnings)
	}
	if parsed, err := blueprint.Parse(files); err == nil && isLenient(parsed) {
		e.collected.lenient.add(titleOf(object))
	}
}

func (e *examination) badBlueprint(level check.Level, object *unstructured.Unstructured, texts []string) {
	finding := Finding{
		Level: level, Code: codeBlueprintWarning, Object: titleOf(object),
		Message: "has a blueprint with warnings: " + texts[0],
		Next: []string{fmt.Sprintf("list all problems: kubectl -n %s get installation %s -o yaml | espalier blueprint validate -",
			object.GetNamespace(), object.GetName())},
	}
	if level == check.Wrong {
		finding.Code, finding.Message = codeBlueprintError, "has a blueprint that Espalier rejects, so its next job fails: "+texts[0]
	}
	if len(texts) > 1 {
		finding.Message += fmt.Sprintf(" (and %d more)", len(texts)-1)
	}
	e.add(finding)
}

// isLenient reports whether a Go template of a blueprint may lean on names that do not exist.
func isLenient(b *blueprint.Blueprint) bool {
	return slices.ContainsFunc(
		slices.Concat(b.ImportExecutions, b.SubinstallationExecutions, b.DeployExecutions, b.ExportExecutions),
		func(x lsv1alpha1.TemplateExecutor) bool {
			return x.Type == lsv1alpha1.TemplateTypeGo && !x.AllowMissingKeys
		},
	)
}

func visitExecution(_ context.Context, e *examination, object *unstructured.Unstructured) error {
	e.read(object, &lsv1alpha1.Execution{})
	return nil
}

var ownTypes = []lsv1alpha1.DeployItemType{
	lsv1alpha1.DeployItemTypeManifest, lsv1alpha1.DeployItemTypeHelm, lsv1alpha1.DeployItemTypeContainer, lsv1alpha1.DeployItemTypeMock,
}

func visitDeployItem(_ context.Context, e *examination, object *unstructured.Unstructured) error {
	item := &lsv1alpha1.DeployItem{}
	if !e.read(object, item) {
		return nil
	}
	if !slices.Contains(ownTypes, item.Spec.Type) {
		s := e.collected.types[item.Spec.Type]
		if s.add(titleOf(object)); item.Status.Deployer.Name != "" {
			s.deployer = item.Status.Deployer.Name
		}
		e.collected.types[item.Spec.Type] = s
		return nil
	}
	if _, found, _ := unstructured.NestedMap(object.Object, "spec", "config", "continuousReconcile"); found {
		e.add(Finding{
			Level: check.Doubtful, Code: codeContinuous, Object: titleOf(object),
			Message: "has continuousReconcile, which has no effect in Landscaper. Espalier redeploys the deploy item at these times",
			Next:    []string{"remove it from the blueprint if you do not want that"},
		})
	}
	return nil
}

// visitContext reads the configuration of OCM that a Context names, and no Secret.
func visitContext(ctx context.Context, e *examination, object *unstructured.Unstructured) error {
	c := &lsv1alpha1.Context{}
	if !e.read(object, c) {
		return nil
	}
	title := titleOf(object)
	if isLocal(c.RepositoryContext) {
		e.localComponents(title)
	}
	for _, name := range slices.Sorted(maps.Keys(c.VerificationSignatures)) {
		signature := c.VerificationSignatures[name]
		for _, key := range []*lsv1alpha1.SecretReference{signature.PublicKeySecretReference, signature.CACertificateSecretReference} {
			if key != nil && key.Namespace != "" && key.Namespace != c.Namespace {
				e.add(Finding{
					Level: check.Wrong, Code: codeKeyElsewhere, Object: title,
					Message: fmt.Sprintf("verificationSignatures.%s names a Secret of namespace %s, and Espalier reads only those of the Context's "+
						"own namespace", name, key.Namespace),
					Next: []string{"copy the Secret into namespace " + c.Namespace + " and name it there"},
				})
			}
		}
	}
	return e.ocmConfig(ctx, title, c)
}

func (e *examination) ocmConfig(ctx context.Context, title string, c *lsv1alpha1.Context) error {
	if c.OCMConfig == nil || c.OCMConfig.Name == "" {
		return nil
	}
	alone := &lsv1alpha1.Context{ObjectMeta: c.ObjectMeta}
	alone.OCMConfig = c.OCMConfig
	var failed error
	config, err := credentials.OfContext(alone, func(_, name string) (map[string][]byte, error) {
		stored := &corev1.ConfigMap{}
		err := e.client.Get(ctx, client.ObjectKey{Namespace: c.Namespace, Name: name}, stored)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		failed = err
		data := maps.Clone(stored.BinaryData)
		if data == nil {
			data = map[string][]byte{}
		}
		for key, value := range stored.Data {
			data[key] = []byte(value)
		}
		return data, err
	})
	if failed != nil {
		return e.access.Explain(failed, "read ConfigMap "+c.OCMConfig.Name, c.Namespace)
	}
	next := []string{"see docs/registries.md for what Espalier reads, and change the ConfigMap " + c.Namespace + "/" + c.OCMConfig.Name}
	if err != nil {
		e.add(Finding{Level: check.Wrong, Code: codeOCMConfig, Object: title, Message: "cannot be read: " + err.Error(), Next: next})
		return nil
	}
	if len(config.Ignored) > 0 {
		e.add(Finding{
			Level: check.Doubtful, Code: codeOCMConfig, Object: title,
			Message: "ocmConfig has parts without effect here: " + some(config.Ignored), Next: next,
		})
	}
	return nil
}

// concludeLandscaper tells what was collected.
func concludeLandscaper(_ context.Context, e *examination) error {
	for _, kind := range slices.Sorted(maps.Keys(e.collected.types)) {
		s := e.collected.types[kind]
		finding := Finding{
			Level: check.Doubtful, Code: codeNoDeployer, Object: s.String(),
			Message: fmt.Sprintf("type %s has no deployer in Espalier, and no deployer has picked one up", kind),
			Next:    []string{"install a deployer of that type, or correct the type in the blueprint"},
		}
		if s.deployer != "" {
			finding.Message = fmt.Sprintf("type %s has no deployer in Espalier. Deployer %s has picked them up, and works with Espalier, too",
				kind, s.deployer)
			finding.Next = []string{"leave that deployer running"}
		}
		e.add(finding)
	}
	if s := e.collected.lenient; s.count > 0 {
		e.add(Finding{
			Level: check.Doubtful, Code: codeStrictTemplates, Object: s.String(),
			Message: "Go templates that look up a name that does not exist fail in Espalier, unless the execution says allowMissingKeys: true",
			Next:    []string{"try the templates with espalier render (docs/offline.md), or set allowMissingKeys, which Landscaper ignores"},
		})
	}
	if s := e.collected.remote; s.count > 0 {
		e.add(Finding{
			Level: Note, Code: codeBlueprintElsewhere, Object: s.String(),
			Message: "the blueprint is in a registry, so it was not checked", Next: []string{"check it: espalier blueprint validate DIR"},
		})
	}
	return nil
}
