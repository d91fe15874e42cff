// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package installations

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/blueprint"
	"espalier.dev/internal/component"
	"espalier.dev/internal/component/resolve"
	"espalier.dev/internal/failure"
)

// Operation of errors about where a blueprint comes from, and their reasons.
const (
	operationReadBlueprint  = "ReadBlueprint"
	reasonComponentInvalid  = "ComponentInvalid"
	reasonComponentNotFound = "ComponentNotFound"
	reasonBlueprintNotFound = "BlueprintNotFound"
	reasonContextNotFound   = "ContextNotFound"
	reasonNotVerified       = "VerificationUnavailable"
)

func unusable(reason string, err error) error {
	return failure.NewTerminal(failure.Details{Operation: operationReadBlueprint, Reason: reason, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)}}, err)
}

func absent(reason string, err error) error {
	return failure.NewRetryable(failure.Details{Operation: operationReadBlueprint, Reason: reason}, err)
}

// blueprintOf returns the blueprint of an installation, and its component if it names one.
func (k *kind) blueprintOf(ctx context.Context, inst *lsv1alpha1.Installation) (*blueprint.Blueprint, *component.Set, error) {
	if inst.Spec.Verification != nil {
		return nil, nil, unusable(reasonNotVerified, errors.New("spec.verification: signatures of components cannot be checked yet; remove the field to install without a check"))
	}
	set, err := k.componentsOf(ctx, inst)
	if err != nil {
		return nil, nil, fmt.Errorf("spec.componentDescriptor: %w", err)
	}
	definition := inst.Spec.Blueprint
	if definition.Inline == nil {
		return nil, nil, absent(reasonBlueprintNotFound, errors.New("spec.blueprint.ref: blueprints in component repositories cannot be read yet; give the blueprint inline"))
	}
	b, err := k.engine.ParseInline(definition.Inline.Filesystem)
	if err != nil {
		return nil, nil, fmt.Errorf("spec.blueprint.inline.filesystem: %w", err)
	}
	return b, set, nil
}

// componentsOf returns the component of an installation with all that it refers to, nil if it names none.
func (k *kind) componentsOf(ctx context.Context, inst *lsv1alpha1.Installation) (*component.Set, error) {
	definition := inst.Spec.ComponentDescriptor
	if definition == nil || (definition.Reference == nil && (definition.Inline == nil || definition.Inline.IsNull())) {
		return nil, nil
	}
	options, err := k.closureOptions(ctx, inst)
	if err != nil {
		return nil, err
	}
	if definition.Reference != nil {
		options.Root, err = component.CoordinatesOf(*definition.Reference, options.Root.RepositoryContext)
	} else {
		options.Inline, err = component.Parse(definition.Inline.Raw, component.DefaultLimits)
	}
	if err != nil {
		return nil, unusable(reasonComponentInvalid, err)
	}
	set, err := resolve.Closure(ctx, k.components, options)
	if errors.Is(err, resolve.ErrNotFound) {
		return nil, absent(reasonComponentNotFound, err)
	}
	if err != nil {
		return nil, unusable(reasonComponentInvalid, err)
	}
	return set, nil
}

// closureOptions are what the Context of an installation says about components.
func (k *kind) closureOptions(ctx context.Context, inst *lsv1alpha1.Installation) (component.ClosureOptions, error) {
	var options component.ClosureOptions
	name := cmp.Or(inst.Spec.Context, lsv1alpha1.DefaultContextName)
	var context lsv1alpha1.Context
	err := k.cluster.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: name}, &context)
	if apierrors.IsNotFound(err) {
		return options, absent(reasonContextNotFound, fmt.Errorf("spec.context: there is no Context %s/%s: create it", inst.Namespace, name))
	}
	if err != nil {
		return options, fmt.Errorf("read Context %s/%s: %w", inst.Namespace, name, err)
	}
	if options.Root.RepositoryContext, err = component.ParseRepositoryContext(context.RepositoryContext); err != nil {
		return options, unusable(reasonComponentInvalid, fmt.Errorf("Context %s: repositoryContext: %w", name, err))
	}
	reference := context.ComponentVersionOverwritesReference
	if reference == "" {
		return options, nil
	}
	var overwrites lsv1alpha1.ComponentVersionOverwrites
	err = k.cluster.Get(ctx, client.ObjectKey{Namespace: inst.Namespace, Name: reference}, &overwrites)
	if apierrors.IsNotFound(err) {
		return options, absent(reasonContextNotFound, fmt.Errorf("Context %s: componentVersionOverwrites: there is no ComponentVersionOverwrites %s/%s: create it", name, inst.Namespace, reference))
	}
	if err != nil {
		return options, fmt.Errorf("read ComponentVersionOverwrites %s/%s: %w", inst.Namespace, reference, err)
	}
	if options.Overwrites, err = component.NewOverwrites(overwrites.Overwrites); err != nil {
		return options, unusable(reasonComponentInvalid, fmt.Errorf("ComponentVersionOverwrites %s: %w", reference, err))
	}
	return options, nil
}
