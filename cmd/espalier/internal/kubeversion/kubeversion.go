// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package kubeversion sets the version of the embedded Kubernetes.
//
// Kubernetes gets its version from linker flags. Without them the API server reports
// v0.0.0, which fails the kubeVersion check of most charts, and kubectl cannot
// compare itself with a server. Linker flags are easily forgotten, and go run and go
// test have none. So this package writes into the same variables as the flags do, by
// their linker names, before Kubernetes reads them: Go initialises packages that import
// nothing first, and among those in the order of their paths.
package kubeversion

import _ "unsafe" // for go:linkname

// Version of the embedded Kubernetes. A test compares it with go.mod.
const Version = "v1.37.1"

const (
	major = "1"
	minor = "37"
)

//go:linkname serverVersion k8s.io/component-base/version.gitVersion
var serverVersion string

//go:linkname serverMajor k8s.io/component-base/version.gitMajor
var serverMajor string

//go:linkname serverMinor k8s.io/component-base/version.gitMinor
var serverMinor string

//go:linkname serverCommit k8s.io/component-base/version.gitCommit
var serverCommit string

//go:linkname clientVersion k8s.io/client-go/pkg/version.gitVersion
var clientVersion string

//go:linkname clientMajor k8s.io/client-go/pkg/version.gitMajor
var clientMajor string

//go:linkname clientMinor k8s.io/client-go/pkg/version.gitMinor
var clientMinor string

//go:linkname clientCommit k8s.io/client-go/pkg/version.gitCommit
var clientCommit string

func init() {
	serverVersion, serverMajor, serverMinor, serverCommit = Version, major, minor, ""
	clientVersion, clientMajor, clientMinor, clientCommit = Version, major, minor, ""
}
