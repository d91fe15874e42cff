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

// all is the expression that chooses everything.
const all = "*"

// Chooser reports which names an expression chooses. It is not anchored: a chooses bar as well. An empty one chooses nothing.
func Chooser(field, expression string) (func(name string) bool, error) {
	switch expression {
	case "":
		return func(string) bool { return false }, nil
	case all:
		return func(string) bool { return true }, nil
	}
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return nil, invalid("spec.%s is no regular expression: %v; to choose all write *", field, err)
	}
	return compiled.MatchString, nil
}

// Check says what is wrong with a spec.
func Check(spec lsv1alpha1.TargetSyncSpec) error {
	if spec.SecretNameExpression != "" && spec.ShootNameExpression != "" {
		return invalid("spec has both secretNameExpression and shootNameExpression: keep the one that is meant")
	}
	if _, err := Chooser("secretNameExpression", spec.SecretNameExpression); err != nil {
		return err
	}
	if _, err := Chooser("shootNameExpression", spec.ShootNameExpression); err != nil {
		return err
	}
	if spec.SecretRef.Name == "" {
		return invalid("spec.secretRef.name is missing: name the Secret with the kubeconfig of the source")
	}
	if len(validation.IsDNS1123Label(spec.SourceNamespace)) > 0 {
		return invalid("spec.sourceNamespace is %q, which is no name of a namespace", spec.SourceNamespace)
	}
	if name := sourceTarget(spec); spec.CreateTargetToSource && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return invalid("spec.targetToSourceName is %q, which is no name of a Target", name)
	}
	return nil
}

// sourceTarget is the name of the Target for the source itself.
func sourceTarget(spec lsv1alpha1.TargetSyncSpec) string {
	return cmp.Or(spec.TargetToSourceName, spec.SourceNamespace)
}

// CredentialKey is the key of the kubeconfig of the source.
func CredentialKey(spec lsv1alpha1.TargetSyncSpec) string {
	return cmp.Or(spec.SecretRef.Key, KubeconfigKey)
}

// The reasons of errors, beside those of the packages that read and write.
const (
	// ReasonInvalid says that the spec has to change.
	ReasonInvalid = "TargetSyncInvalid"
	// ReasonNotAlone says that there is another TargetSync in the namespace.
	ReasonNotAlone = "TargetSyncNotAlone"
	// ReasonNotOurs says that an object of somebody else is in the way.
	ReasonNotOurs = "ObjectNotOurs"
	// ReasonFailed says that the synchronisation went wrong.
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

// NotOurs says that an object of somebody else is in the way.
func NotOurs(kind, name string) error {
	return obstacle(ReasonNotOurs, fmt.Errorf(
		"%s %s exists and was not made by a TargetSync, so it stays as it is: delete or rename it, or hand it over by the label %s=%s",
		kind, name, lsv1alpha1.TargetSyncLabel, lsv1alpha1.TargetSyncOK))
}
