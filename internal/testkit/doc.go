// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package testkit is what tests of the product are made of. Its centre is a real API server, so that a test proves what users
// will see, and not what the author of a mock believed.
//
//	func TestMain(m *testing.M) { testkit.Main(m) }
//
//	func TestAnInstallationDeploys(t *testing.T) {
//		server := testkit.Server(t)                              // one per process; the first test starts it
//		namespace := server.Namespace(t)                         // a world for this test
//		recorder := testkit.Record(t, server, namespace, testkit.Groups("landscaper.gardener.cloud"))
//		managed.Run(t, server.Config(), managed.Options(namespace)) // the code under test
//		installation := testkit.Installation(namespace, "app").Blueprint(text).ImportData("config", "app-config").Reconcile().Build()
//		testkit.Create(t, server, testkit.DataObject(namespace, "app-config", 42).Build(), installation)
//		testkit.EventuallyFinished(t, server, installation, landscaper.PhaseSucceeded)
//		recorder.Quiet(t, time.Second)                           // a finished world writes nothing
//		t.Log(recorder.Of(installation).Transitions("status.phase"))
//	}
//
// # The parts
//
// Server and NewServer run API servers: the shared one, and private ones that are bare, or can be stopped and started again.
// The binary is built on first use into the checkout's .cache folder, which takes minutes from a cold build cache; to do it ahead of the
// tests, run the command in prebuild.
//
// Installation, Execution, DeployItem, DataObject, Target, Context and Pipeline begin builders; Build ends them, and Create stores
// objects.
//
// Eventually, EventuallyGone and EventuallyFinished wait by watching. There is no opposite, because "never" cannot be awaited: to show
// that nothing happens, bring about something that must come later, or wait for the Recorder to be Quiet.
//
// World is a namespace in the hands of one test, for packages to embed in their own worlds. NewManager, Run and Start run controllers
// that the test sets up; package managed, below this one, runs those of the product.
//
// Record keeps every state of every object, for rules that hold at all times, and prints the story when the test fails.
//
// Golden compares with a file; YAML prints objects such that they can be compared.
//
// Package parts, below this one, runs the programs of others that the product works with: Flux and Gitea.
//
// Package faults, also below, makes the connection of a controller fail as planned. Package relay stands between a client and a server
// that must disappear, and package traffic sees what a client sends. Package diagram draws phases from decisions.
//
// # Rules
//
// Tests share a server, so a test stays in its namespaces and gives managers under test only those. A package all of whose tests do so uses
// MainWithOthers, and may get the server of other packages. Time limits are for broken tests: no
// assertion may depend on how fast something is. Whatever is printed has secrets masked.
package testkit
