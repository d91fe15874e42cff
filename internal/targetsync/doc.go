// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package targetsync decides about TargetSyncs: which Targets and Secrets there shall be, what of them is written or deleted, and when the
// token of the source is replaced.
//
// Words:
//
//   - source: the namespace, mostly of another cluster, that Targets are made from.
//   - pair: a Target and the Secret that it refers to, both of one name.
//   - ours: with the label landscaper.gardener.cloud/targetsync=ok. What does not have it was made by somebody else, and is neither
//     changed nor deleted.
//
// A synchronisation is made of repeatable writes, so one that was cut off is simply made again. Nothing is deleted because of what could
// not be read: what is gone from the source is deleted only if the whole synchronisation went well.
//
// # Rotation
//
// A token is requested, then the Secret is written, then the status. The Secret says by an annotation when its token was made, so after
// a crash between the last two no other one is requested. A token that was requested and never written down is lost, and harmless: it ends
// by itself. A request by annotation is first given the time at which it was seen; it is done when the Secret is younger, and then both
// annotations go.
package targetsync
