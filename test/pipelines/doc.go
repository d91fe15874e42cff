// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package pipelines tests promotions as their users see them: through the Kubernetes API, Git, pull requests and HTTP, with a whole
// manager and, where it matters, with a real Flux in leaf control planes and a real Gitea.
//
// # Acceptance cases
//
// These are the cases in which promotion controllers go wrong, and the tests that show that this one does not; a test checks that they
// exist. Where a package is not named, it is this one.
//
// Calls that announce an event of Flux. They only make the controller look, so nothing about strategies can go wrong in them:
//
//   - methods and paths: internal/approval: TestMethodsAndPaths
//   - bodies, revisions, environments and objects that do not fit, unknown pipelines: internal/approval: TestPIP27_EventsThatDoNotFit
//   - no signature, a malformed and a wrong one, all algorithms: internal/approval: TestPIP27_ACallMustProveThatItKnowsTheKey
//   - it has no other effect: internal/approval: TestPIP27_AnEventMakesTheControllerLookAndNothingElse
//   - the strategy fails, or there is none: TestPIP20_PullRequestsThatCannotBeOpenedSayWhy, TestPIP20_WhichStrategyCounts
//   - manual promotions set the marker: internal/controller/pipelines: TestPIP25_NothingHappensBeforeTheApproval
//
// Approvals:
//
//   - unknown pipelines and wrong signatures look alike: internal/approval: TestPIP26_WhoeverCannotProveItIsRefusedAlike
//   - the signature of the former controller: internal/approval: TestPIP26_TheOlderSchemeNeedsASwitch
//   - another revision, an old run: internal/approval: TestPIP26_AnApprovalNeedsAPromotionThatWaitsForIt
//   - the answer leads to the pull request: internal/approval: TestPIP26_TheAnswerLeadsToThePullRequest, TestWithFlux
//   - repetition: internal/approval: TestPIP26_ARepeatedCallChangesNothing, internal/approval: TestPIP26_ACallIsNoGoodForALaterRun
//   - revisions with / and @: internal/approval: TestPIP26_RevisionsMayContainSlashesAndMore
//   - a promotion block in the environment only: internal/approval: TestPIP26_AnEnvironmentOfItsOwnHasAKeyOfItsOwn
//   - several replicas: internal/approval: TestPIP25_PIP26_AnApprovalLeadsToOnePromotion
//
// Limits and repetition:
//
//   - one call too many, other clients, the next window: internal/approval: TestLimiterCountsEachClientInWindows, internal/approval:
//     TestTooManyCalls
//   - pauses between attempts: internal/pipeline: TestRetriesGrowAndAreSpread, TestPIP20_PIP22_AGitServerThatIsAwayIsTriedAgain
//
// Status:
//
//   - a cluster that is missing, not ready, ready, gone: internal/controller/pipelines: TestPIP05_PIP06_LeafClustersComeAndGo
//   - no reference to a cluster: internal/fleet: TestPIP05_TheManagementClusterNeedsNoReference
//   - a target from absent to healthy, of each kind, in another cluster; ready without a revision:
//     TestPIP04_PIP05_PIP06_ATargetFromNothingToHealthy
//   - what only seems healthy: internal/fleet: TestPIP04_HealthByTheScheme, internal/fleet: TestPIP04_RevisionOfAHelmRelease
//
// What is promoted when:
//
//   - a revision reaches all environments, and so does the next: internal/controller/pipelines:
//     TestPIP01_PIP11_ARevisionReachesAllEnvironments, TestWithFlux
//   - the first environment with two targets, mixed revisions: internal/controller/pipelines:
//     TestPIP10_PromotionIsPendingUntilTheFirstEnvironmentAgrees
//   - nothing is promoted twice: internal/pipeline: TestPIP20_NothingThatHappensDoesHarm
//   - a partial rollout stops: internal/controller/pipelines: TestPIP11_WhereATargetRunsTheRevisionNothingIsPromoted
//   - an unreadable later environment stops: internal/controller/pipelines: TestPIP06_AMissingTargetStopsItsPipelineOnly, TestWithFlux
//   - downgrades: internal/pipeline: TestPIP12_RunBeginsAgainWithAnOldRevision, internal/pipeline: TestDowngrades
//   - a new revision while a pull request is open: internal/controller/pipelines: TestPIP12_PIP22_ANewRevisionReplacesThePullRequest,
//     TestWithFlux
//   - crashes at every step: internal/pipeline: TestPIP20_CrashBetweenAnyTwoStepsDoesNoHarm, test/faults/promotions: TestCrashes
//   - the status is lost: internal/controller/pipelines: TestPIP20_LostMemoryOpensNoSecondPullRequest, internal/pipeline:
//     TestStatusThatIsLostIsRebuiltFromPullRequests
//   - nothing is written when nothing changes: internal/controller/pipelines: TestPIP01_NothingIsWrittenWhenNothingChanges, TestWithFlux
//   - Helm rolls a release back: internal/pipeline: TestHelmRemediationIsToldAndNotPromotedAgain, TestWithFlux
//
// Watches, counted at the leaf:
//
//   - they end with the last pipeline, and not before: internal/fleet: TestPIP02_AWatchLastsFromTheFirstReferenceToTheLast
//   - they end with a deleted pipeline: internal/controller/pipelines: TestPIP29_PIP02_ADeletedPipelineDropsItsWatches
//
// Pull requests:
//
//   - no Secret, no token, wrong credentials, empty, unreachable and unencrypted URLs: TestPIP20_PullRequestsThatCannotBeOpenedSayWhy
//   - an unsupported kind of server: TestPIP20_AnUnknownKindOfGitServerIsRefusedAtOnce
//   - a private authority and another base branch: TestPIP22_PIP23_APullRequestForAnotherBaseBranch
//   - URLs of all kinds of servers: internal/gitprovider/providers: TestRepositoriesAreIdentifiedHoweverTheirURLIsSpelt
//   - forms of markers, several files and pipelines: internal/gitprovider/marker: TestPIP23_OnlyTheMarkedScalarChanges,
//     internal/gitprovider/pullrequest: TestPIP22_PipelinesShareARepository
//   - what is not marked stays byte for byte: internal/gitprovider/marker: TestPIP23_BytesOutsideOfTheScalarStay,
//     TestPIP22_PIP23_APullRequestForAnotherBaseBranch
//   - symbolic links: internal/gitprovider/gitremote: TestPIP23_ACommitChangesFilesAndNothingElse
//   - branches and pull requests that are there already: internal/gitprovider/pullrequest:
//     TestPIP20_AProposalThatIsCutOffAnywhereIsFinishedByTheNext
//   - merged, closed, on a second page of the list: internal/gitprovider/providers: TestPIP22_EveryProviderKeepsTheContract,
//     internal/gitprovider/poll: TestPIP22_WithGiteaEveryEndIsSeen
//   - the base moves, others push in between: internal/gitprovider/pullrequest:
//     TestPIP22_TheBranchIsMadeAnewWhenTheBaseChangesTheSameFiles, internal/gitprovider/pullrequest: TestPIP20_APushInBetweenIsSeen
//   - no marker: internal/controller/pipelines: TestPIP23_WithoutAMarkerThePromotionFailsUntilTheBaseHasOne
//   - a call of the Git server: TestPIP22_ACallOfTheGitServerTellsOfTheMergeAtOnce
//
// Notifications:
//
//   - text, metadata that notification-controller passes on, repetition after 5xx: internal/controller/pipelines:
//     TestPIP21_NotificationsReachFluxAndAreRetried
//   - 429 counts as delivered: internal/controller/pipelines: TestPIP21_WhatFluxHasTakenAlreadyIsDelivered
//
// Choice of the strategy:
//
//   - the environment beats the pipeline; both strategies, none: TestPIP20_WhichStrategyCounts
package pipelines
