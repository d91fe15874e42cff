// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package credentials parses documents with credentials for registries and chart repositories, and finds those for an
// address:
//
//   - .dockerconfigjson, as docker login writes it
//   - .ocmcredentialconfig, consumers and their credentials as in OCM
//   - .ocmconfig, which may contain the former among other settings, and configures where components are looked up
//
// All of them are read as YAML, which includes JSON. Errors name the field and never quote its content.
package credentials
