// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package catalog finds what an installation installs: its component with everything that it refers to, its blueprint, and the schemas and
// resources that both refer to.
//
// The controllers and the offline tools use it alike. They pass the objects that the installation refers to and a Repository to read from;
// the result is the first part of the input of the blueprint engine.
//
// Every error has a kind (see package failure) and names the field that caused it. Mistakes of the user and what cannot work are terminal;
// what a repository does not have, or cannot provide at the moment, may be available later.
package catalog
