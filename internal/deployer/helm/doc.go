// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package helm deploys items of type landscaper.gardener.cloud/helm: charts, in one of two modes.
//
// As a release, which is the default: Helm installs the chart, upgrades it and uninstalls it. The record of the release in the target
// cluster shows what was deployed, so the next step is decided from it (decide.go), even after a crash.
//
// As a template, if helmDeployment is false: the chart is rendered, and the resulting objects are applied, kept in an inventory and deleted
// by the same engine as the objects of the manifest deployer.
//
// An item may change from one mode to the other. Its objects are then handed over, not deleted (handover.go).
package helm
