// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package targetsync decides about TargetSyncs: which Targets and Secrets must exist, which of them are written or deleted, and when the
// token of the source is replaced.
//
// Words:
//
//   - source: the namespace, usually in another cluster, from which Targets are created.
//   - pair: a Target and the Secret that it refers to, both with the same name.
//   - ours: with the label landscaper.gardener.cloud/targetsync=ok. Objects without it were created by another client, and are neither
//     changed nor deleted.
//
// A synchronisation consists of idempotent writes, so an interrupted one is simply repeated. Failing to read the source deletes nothing:
// objects that are gone from the source are deleted only if the whole synchronisation succeeded.
//
// # Rotation
//
// A token is requested, then the Secret is written, then the status. An annotation of the Secret records when its token was created, so
// after a crash between the last two no other token is requested. A token that was requested and never stored is lost, which is harmless:
// it expires. A request by annotation first gets the time at which it was seen; it is done once the Secret is newer, and then both
// annotations are removed.
package targetsync
