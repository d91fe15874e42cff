// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package container

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"

	lsv1alpha1 "espalier.dev/api/landscaper/v1alpha1"
	"espalier.dev/internal/component/credentials"
	"espalier.dev/internal/component/repository"
)

// DefaultImage is the image for items that name none.
const DefaultImage = "ubuntu:24.04"

// Repository is the repository of the image with espalier-container.
const Repository = "espalier.dev/espalier-container"

// Registries opens the repositories for a job of a deploy item, with the credentials and resolvers of a Context.
type Registries func(c *lsv1alpha1.Context, contents credentials.Contents, item types.UID, job string) (*repository.Repositories, error)

// Options configure where and how pods run.
type Options struct {
	// Namespace is the namespace of all pods. If it is empty, pods run in the namespaces of their deploy items.
	Namespace string
	// Namespaces are the namespaces whose items are processed; none means all.
	Namespaces []string
	// HelperImage is the image with espalier-container.
	HelperImage string
	// DefaultImage is the image for items that name none.
	DefaultImage string
	// NodeSelector, Tolerations and Resources apply to all pods.
	NodeSelector map[string]string
	Tolerations  []corev1.Toleration
	Resources    corev1.ResourceRequirements
	// Identity is the identity of the deployer; empty means "default".
	Identity string
	// Registries opens repositories for blueprints and component descriptors. Nil rejects those that are not inline.
	Registries Registries
}

func (o Options) withDefaults() Options {
	o.DefaultImage = cmp.Or(o.DefaultImage, DefaultImage)
	o.Identity = cmp.Or(o.Identity, "default")
	return o
}

// HelperImage returns the image with espalier-container of a version. Characters that a tag cannot contain are replaced.
func HelperImage(version string) string {
	tag := strings.Map(func(r rune) rune {
		if strings.ContainsRune("._-", r) || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, version)
	return Repository + ":" + cmp.Or(strings.TrimLeft(tag, ".-"), "latest")
}

// ParseToleration reads a taint in kubectl's notation: key=value:effect, key:effect, or key alone for all effects.
func ParseToleration(text string) (corev1.Toleration, error) {
	taint, effect, _ := strings.Cut(text, ":")
	key, value, valued := strings.Cut(taint, "=")
	toleration := corev1.Toleration{Key: key, Value: value, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffect(effect)}
	if valued {
		toleration.Operator = corev1.TolerationOpEqual
	}
	if problems := validation.IsQualifiedName(key); len(problems) > 0 {
		return toleration, fmt.Errorf("%q is not a taint: %s; use key=value:effect, key:effect or key", text, problems[0])
	}
	effects := []corev1.TaintEffect{"", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute}
	if !slices.Contains(effects, toleration.Effect) {
		return toleration, fmt.Errorf("%q is not a taint: the effect must be NoSchedule, PreferNoSchedule or NoExecute", text)
	}
	return toleration, nil
}

// ParseResources parses quantities, keyed by resource name.
func ParseResources(texts map[string]string) (corev1.ResourceList, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	list := corev1.ResourceList{}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		quantity, err := resource.ParseQuantity(texts[name])
		if err != nil || quantity.Sign() < 0 {
			problems = append(problems, fmt.Errorf("%s=%s: use a quantity such as 100m or 64Mi", name, texts[name]))
		}
		list[corev1.ResourceName(name)] = quantity
	}
	return list, errors.Join(problems...)
}
