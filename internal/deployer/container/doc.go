// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package container deploys an item by running an image in a pod of the management cluster. The pod gets files with the imports, the
// target, the blueprint and the component descriptor, and a directory whose content persists from run to run.
//
// An item has at most one pod, whose name follows from the item's UID, so the API server itself prevents a second start. The deployer does
// everything that needs registries or Secrets beforehand, and passes the result to the pod in Secrets. In the pod, package inside unpacks
// them, and stores exports and state in Secrets prepared for it; its service account may write only these.
//
// The deployer starts and follows pods. The janitor stops those that are no longer awaited, after an interrupt, a timeout or a deletion.
// It depends only on the state of items, and so misses no event.
package container
