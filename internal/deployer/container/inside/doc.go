// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package inside is what runs in the pods of the container deployer, beside the image of the deploy item: Init unpacks what the image
// finds, and Wait stores what it leaves behind. Both trust nothing that lies in the directories which they share with the image.
//
// It imports the standard library alone, so that the binary stays small.
package inside
