// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package targetsync

import (
	"cmp"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/failure"
)

// all is the expression that selects all names.
const all = "*"

// Chooser returns a function that reports whether an expression selects a name. The expression is not anchored: "a" also selects "bar". An
// empty one selects nothing.
func Chooser(field, expression string) (func(name string) bool, error) {
	switch expression {
	case "":
		return func(string) bool { return false }, nil
	case all:
		return func(string) bool { return true }, nil
	}
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return nil, invalid("spec.%s is not a regular expression: %v; to select all, use *", field, err)
	}
	return compiled.MatchString, nil
}

// Check returns an error if a spec is invalid.
func Check(spec lsv1alpha1.TargetSyncSpec) error {
	if spec.SecretNameExpression != "" && spec.ShootNameExpression != "" {
		return invalid("spec has both secretNameExpression and shootNameExpression: keep one")
	}
	if _, err := Chooser("secretNameExpression", spec.SecretNameExpression); err != nil {
		return err
	}
	if _, err := Chooser("shootNameExpression", spec.ShootNameExpression); err != nil {
		return err
	}
	if spec.SecretRef.Name == "" {
		return invalid("spec.secretRef.name is missing: set the Secret with the kubeconfig of the source")
	}
	if len(validation.IsDNS1123Label(spec.SourceNamespace)) > 0 {
		return invalid("spec.sourceNamespace is %q, which is not a valid namespace name", spec.SourceNamespace)
	}
	if name := sourceTarget(spec); spec.CreateTargetToSource && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return invalid("spec.targetToSourceName is %q, which is not a valid Target name", name)
	}
	return nil
}

// sourceTarget returns the name of the Target for the source itself.
func sourceTarget(spec lsv1alpha1.TargetSyncSpec) string {
	return cmp.Or(spec.TargetToSourceName, spec.SourceNamespace)
}

// CredentialKey returns the key of the source's kubeconfig.
func CredentialKey(spec lsv1alpha1.TargetSyncSpec) string {
	return cmp.Or(spec.SecretRef.Key, KubeconfigKey)
}

// The reasons of errors, in addition to those of the packages that read and write.
const (
	// ReasonInvalid means that the spec must change.
	ReasonInvalid = "TargetSyncInvalid"
	// ReasonNotAlone means that there is another TargetSync in the namespace.
	ReasonNotAlone = "TargetSyncNotAlone"
	// ReasonNotOurs means that a foreign object blocks the synchronisation.
	ReasonNotOurs = "ObjectNotOurs"
	// ReasonFailed means that the synchronisation failed.
	ReasonFailed = "SynchronisationFailed"
)

func invalid(format string, args ...any) error {
	return failure.Terminalf(failure.Details{
		Operation: "Synchronise", Reason: ReasonInvalid, Codes: []string{string(lsv1alpha1.ErrorConfigurationProblem)},
	}, format, args...)
}

func obstacle(reason string, err error) error {
	return failure.NewRetryable(failure.Details{Operation: "Synchronise", Reason: reason}, err)
}

// NotOurs returns the error for a foreign object that blocks the synchronisation.
func NotOurs(kind, name string) error {
	return obstacle(ReasonNotOurs, fmt.Errorf(
		"%s %s exists and was not created by a TargetSync, so it is left alone: delete or rename it, or hand it over with the label %s=%s",
		kind, name, lsv1alpha1.TargetSyncLabel, lsv1alpha1.TargetSyncOK))
}
