// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package catalog finds what an installation installs: its component with all that it refers to, its blueprint, and the
// schemas and resources that both lead to.
//
// The controllers and the offline tools ask it alike. They bring the objects that the installation refers to and a
// Repository to read from; what they get back is the first part of the input to the blueprint engine.
//
// Every error has a kind (see package failure) and names the field that led to it. What the user wrote and what cannot
// work is terminal; what a repository does not have, or cannot give at the moment, may be there later.
package catalog
