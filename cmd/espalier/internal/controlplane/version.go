// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	apimachineryversion "k8s.io/apimachinery/pkg/version"
	"k8s.io/component-base/compatibility"
)

// KubernetesVersion is what the API server calls itself. Kubernetes takes its version
// from linker flags and would be v0.0.0 without them, which fails the kubeVersion
// check of most charts. A test compares this constant with go.mod.
const KubernetesVersion = "v1.37.1"

// stampedVersion reports KubernetesVersion however the binary was linked.
type stampedVersion struct {
	compatibility.MutableEffectiveVersion
}

func (v stampedVersion) Info() *apimachineryversion.Info {
	info := v.MutableEffectiveVersion.Info()
	info.GitVersion = KubernetesVersion
	info.GitCommit = ""
	return info
}
