// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package targetsync decides about TargetSyncs: which Targets and Secrets must exist, which of them are written or deleted, and when the
// token of the source is replaced.
//
// Words:
//
//   - source: the namespace, mostly of another cluster, that Targets are created from.
//   - pair: a Target and the Secret that it refers to, both with the same name.
//   - ours: with the label landscaper.gardener.cloud/targetsync=ok. What does not have it was created by another client, and is neither
//     changed nor deleted.
//
// A synchronisation consists of idempotent writes, so an interrupted one is simply repeated. Nothing is deleted because it could not be
// read: what is gone from the source is deleted only if the whole synchronisation succeeded.
//
// # Rotation
//
// A token is requested, then the Secret is written, then the status. An annotation of the Secret says when its token was created, so after
// a crash between the last two no other one is requested. A token that was requested and never stored is lost, and harmless: it expires. A
// request by annotation first gets the time at which it was seen; it is done when the Secret is younger, and then both annotations are
// removed.
package targetsync
