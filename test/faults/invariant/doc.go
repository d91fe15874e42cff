// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Package invariant holds the rules that a recorded history must obey at every single revision, whatever crashed, lagged or
// failed meanwhile. A rule is a pure function from a history to what violates it, and names the object, the revision and the rule.
//
// The rules look at Installations, Executions and DeployItems, and at what deployers have made in the target: objects with the label
// [DeployedLabel], recorded in the same history; at pods of the container deployer, and at TargetSyncs. Those with a C are of the
// continuous flow, the others of the job flow or of both.
//
//	Finishing      I1  nothing is finished while something below it is not, I3 the end of a job is one write
//	Jobs           I2  one job at a time, passed on and never taken, I4 one request is one job
//	Order          I5  nothing begins before what it depends on has succeeded, deletion runs backwards
//	Fencing        I6  a finished deploy item is left alone
//	Target         I7  nothing is deployed that no inventory knows, I8 a finalizer goes last
//	Status         I13 generations and conditions tell the truth
//	Generated      I16 a value that a template generates for its state is never another one
//	Releases       I17 at most one revision of a Helm release is deployed
//	Containers     I18 an image runs once for a job, I19 its input stays until it runs
//	Synced         I20 a TargetSync makes everything once, I21 and replaces tokens on request
//	Sharing        I22 of several processes one works on a tree at a time
//	Deletions      I23 each ends or names what ends it, I24 nothing is left, I25 nothing exists twice or comes back
//	Past           I26 a root keeps the specs that its jobs have used
//	Suspended      I27 a suspended root starts nothing
//	Deployed       C1  success means that the present spec is deployed
//	Touch          C2  what is busy gets another spec only by force, C3 an installation stays while another one imports from it
//	Rest           C4  what is finished and unchanged is not written
//	Order          C5  nothing is deployed before what it depends on
//	Recovery       I14 the end is that of an undisturbed run, I15 with a bounded number of writes
package invariant
