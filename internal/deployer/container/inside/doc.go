// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package inside runs in the pods of the container deployer, beside the image of the deploy item: Init unpacks the input of the image, and
// Wait stores its output. Neither trusts the content of the directories that it shares with the image.
//
// It only imports the standard library, so that the binary stays small.
package inside
