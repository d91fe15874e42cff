// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package manifest deploys items of type landscaper.gardener.cloud/kubernetes-manifest: it applies the objects in the item's configuration
// to the target cluster, keeps an inventory of them, waits until they are ready, exports values from them, and removes them again.
//
// A pass goes through the steps apply, prune, default readiness, custom readiness, exports, patches after the deployment. The first step
// that must wait ends the pass; events of the objects in question start the next one.
package manifest
