// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package container deploys items by running an image in a pod of the host cluster, with files for its imports, its target, its blueprint
// and its component descriptor, and with a directory whose content lasts from run to run.
//
// An item has one pod at most, whose name follows from the item's UID: so the API server itself keeps a run from being started twice. What
// needs registries or Secrets is done beforehand, and handed to the pod in Secrets. In the pod, package inside unpacks that, and stores
// exports and state in Secrets that exist for it; its service account may write these and nothing else.
//
// The deployer starts and judges pods. Ending those that nobody waits for any more, after an interrupt, a timeout or a deletion, is the
// work of the janitor, which looks at the state of items alone and so misses nothing.
package container
