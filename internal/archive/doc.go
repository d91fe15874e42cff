// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package archive reads and writes tar archives, with or without gzip, in memory.
//
// The input comes from others. It is bounded in every dimension, and an archive that is suspicious in any way is rejected as a whole: names
// that lead out, links, devices, duplicate names, trailing data.
package archive
