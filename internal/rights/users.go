// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

package rights

// The rights of users. Only the command line and the web UI use them, on behalf of their users.

//espalier:rights viewer,editor
//	get,list,watch installations,pipelines: how they are doing, and why something waits
//	get,list,watch contexts,componentversionoverwrites,targetsyncs: where components and Targets come from
//	get,list,watch gitopsclusters,referencegrants: which clusters exist, and which namespaces permit references
//	get,list,watch events.events.k8s.io: what has happened

//espalier:rights value-viewer,editor
//	get,list,watch executions,deployitems: what is below an installation, with rendered configurations
//	get,list,watch dataobjects,targets: what installations import and export, and the clusters that they deploy to

//espalier:rights editor
//	create,update,patch,delete,deletecollection installations,pipelines: to install and to promote
//	create,update,patch,delete,deletecollection contexts,componentversionoverwrites: where components come from
//	create,update,patch,delete,deletecollection dataobjects,targets,targetsyncs: what is imported, and clusters to deploy to
//	create,update,patch,delete,deletecollection gitopsclusters: clusters to promote in
//	create,update,patch,delete,deletecollection executions,deployitems: those that are made without an installation

//espalier:rights approver
//	get,list,watch pipelines: what waits for an approval
//	patch pipelines: a decision on a promotion is an annotation
//	approve pipelines: the right to decide on promotions, which the admission policy of approvals demands

//espalier:rights granter
//	get,list,watch,create,update,patch,delete referencegrants: which references of other namespaces are permitted

// The rights of service accounts in strict tenancy. The controllers use them, on behalf of a namespace.

//espalier:rights tenant
//	create,update,patch installations: nested installations, and promotions by the strategy installation
//	create,update,patch executions,deployitems: what is below an installation
//	get,create,update dataobjects: what installations import and export
//	get,create,update,patch targets: the same for Targets, and those that TargetSyncs create
//	get configmaps: imports, and what Contexts name
//	get,create,update,patch,delete secrets: imports, credentials, kubeconfigs, exports of deploy items, states of templates
//	list secrets: copies that TargetSyncs created
//	update installations/finalizers,executions/finalizers: children block the deletion of their owner, which some API servers permit only so

//espalier:rights tenant-containers
//	create pods: each run of an image is a pod
