// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package catalog finds the content of an installation: its component with everything that it refers to, its blueprint, and the schemas and
// resources that both refer to.
//
// Both the controllers and the offline tools use it. They pass the objects that the installation refers to and a Repository to read from;
// the result is the first part of the input of the blueprint engine.
//
// Every error has a kind (see package failure) and names the field that caused it. Mistakes of the user are terminal;
// missing or currently unavailable content of a repository may be available later.
package catalog
