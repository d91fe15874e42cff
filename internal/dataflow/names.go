// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package dataflow

import (
	"crypto/sha1"
	"encoding/base32"
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
)

// globalPrefix marks a reference to the object with exactly this name.
const globalPrefix = "#"

// plainName matches names that need no hash, as the API has always defined them. It accepts more than Kubernetes does: two dots may
// follow each other.
var plainName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

var lowerCase = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// ObjectName returns the name of the DataObject or Target that a reference denotes in a context.
func ObjectName(context, reference string) string {
	if name, global := strings.CutPrefix(reference, globalPrefix); global {
		return name
	}
	if context == "" && plainName.MatchString(reference) {
		return reference
	}
	return hashedName(context + "/" + reference)
}

// hashedName is part of the API; the hash protects nothing.
func hashedName(text string) string {
	sum := sha1.Sum([]byte(text))
	return lowerCase.EncodeToString(sum[:])
}

// IndexedReference refers to a target of a list.
func IndexedReference(list string, index int) string { return fmt.Sprintf("%s[%d]", list, index) }

// KeyedReference refers to a target of a map.
func KeyedReference(targetMap, key string) string { return targetMap + "[" + key + "]" }

// SplitElement splits a reference to a target of a list or map. It returns false for all other references.
func SplitElement(reference string) (name, key string, ok bool) {
	before, rest, found := strings.Cut(reference, "[")
	key, closed := strings.CutSuffix(rest, "]")
	if !found || !closed || before == "" || key == "" || IsGlobal(reference) || strings.ContainsAny(key, "[]") ||
		strings.Contains(before, "]") {
		return "", "", false
	}
	return before, key, true
}

// IsGlobal reports whether a reference denotes the object with exactly this name, in any scope.
func IsGlobal(reference string) bool { return strings.HasPrefix(reference, globalPrefix) }

// ContextOf returns the context that an installation opens. Labels also use it to name the installation as a source.
func ContextOf(installation string) string { return lsv1alpha1.InstallationPrefix + installation }

// ContextOfExecution returns the name of an execution in labels.
func ContextOfExecution(execution string) string { return lsv1alpha1.ExecutionPrefix + execution }

// InstallationOf returns the installation that a label names, and whether it names one.
func InstallationOf(label string) (string, bool) {
	return strings.CutPrefix(label, lsv1alpha1.InstallationPrefix)
}

// checkReference returns why a reference cannot be an export, or why an import name cannot be stored: the name becomes the value of a
// label, and for global references the name of an object.
func checkReference(reference string) string {
	name, global := strings.CutPrefix(reference, globalPrefix)
	if name == "" {
		return "it is empty"
	}
	if len(validation.IsValidLabelValue(name)) > 0 {
		return "it becomes a label: use at most 63 letters, digits, '-', '_' and '.', and begin and end with a letter or digit"
	}
	if global && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return "the part after # must be the name of an object: use lower-case letters, digits, '-' and '.', and begin and end with a letter or digit"
	}
	return ""
}
