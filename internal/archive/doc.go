// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package archive reads and writes tar archives, packed with gzip or not, in memory.
//
// What is read comes from others. It is bounded in every direction, and an archive that is odd in any way is refused as a
// whole: names that lead out, links, devices, names that are there twice, more data after the end.
package archive
