// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package credentials understands the documents in which users keep credentials for registries and chart repositories, and
// finds the ones that are meant for an address:
//
//   - .dockerconfigjson, as docker login writes it
//   - .ocmcredentialconfig, consumers and their credentials as OCM knows them
//   - .ocmconfig, which may hold the former among other settings, and says where components are looked up
//
// All of them are read as YAML, of which JSON is a part. Errors name the field and never quote what is in it.
package credentials
