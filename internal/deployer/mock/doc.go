// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package mock deploys nothing and reports what the deploy item requests: the final phase, a provider status, exports. Use it to try
// blueprints and trees of installations without a cluster to deploy to.
//
// Its configuration is the ProviderConfiguration of mock.deployer.landscaper.gardener.cloud/v1alpha1:
//
//	phase           Succeeded (the default) and Failed end the job like that. Any other phase never ends it.
//	initialPhase    A phase that is not final makes the item stop in Progressing, visibly, before it continues to phase.
//	                A final one ends the job there.
//	providerStatus  is stored unchanged.
//	export          is what the item exports, with phase Succeeded.
//
// A deletion always succeeds. docs/deployers.md shows how to use it in tests.
package mock
