// SPDX-FileCopyrightText: The Espalier authors
// SPDX-License-Identifier: Apache-2.0

// Made from internal/web/view/types.go by "go test ./internal/web/typescript -update". Do not change it by hand.

/** A time as JSON has it, such as 2026-01-31T12:00:00Z. */
export type Time = string;

/** Tone is how a state is shown: by a shape, a word and a colour. */
export type Tone =
  | "not-yet"
  | "works"
  | "done"
  | "failed"
  | "going"
  | "going-failed"
  | "waits"
  | "person"
  | "stopped"
  | "unknown";

/** Ref names an object. Kind is Installation, Execution, DeployItem, Pipeline, Target, DataObject, Secret or ConfigMap. */
export interface Ref {
  kind: string;
  namespace: string;
  name: string;
}

/** Status is how something is doing. Word is the one of the API, such as Progressing or WaitingForApproval. */
export interface Status {
  tone: Tone;
  word: string;
  since?: Time;
  message?: string;
}

/** Progress counts deploy items or targets. */
export interface Progress {
  all: number;
  done: number;
  running: number;
  failed: number;
  waiting: number;
}

/**
 * Action is something that a person can do to the object of a page. Command does the same in a terminal. What the reader may not do has a
 * reason in Denied, and what makes no sense now has one in Unavailable.
 */
export interface Action {
  /** ID is reconcile, interrupt, abort, force, delete, approve, reject, promote, retry, hold or release. */
  id: string;
  label: string;
  command: string;
  explanation?: string;
  /** Confirm is the question before it is done, with the name of the result. */
  confirm?: string;
  danger?: boolean;
  denied?: string;
  unavailable?: string;
}

/** Overview is the first page. Needs come first, the widest effect first. */
export interface Overview {
  now: Time;
  verdict: string;
  needs: Need[];
  soon: string[];
  pipelines: PipelineRow[];
  installations: InstallationRow[];
  /** Hidden names what the reader may not list, each with the missing right. */
  hidden: string[];
}

/** Need is something that does not go on without a person: a failure, an approval, or something that nobody provides. */
export interface Need {
  id: string;
  tone: Tone;
  subject: Ref;
  cause: Ref;
  title: string;
  reason: string;
  message: string;
  holdsUp: number;
  since?: Time;
  command: string;
  /** Button says where the need leads to: "See why" or "Review changes". */
  button: string;
}

/** InstallationRow is a root installation. */
export interface InstallationRow {
  ref: Ref;
  status: Status;
  progress: Progress;
  /** Flow is Job or Continuous. */
  flow: string;
  component?: string;
  version?: string;
  waitsFor?: string;
}

/**
 * PipelineRow is a pipeline on the overview, with its environments in order. These have neither actions nor an approval, which belong to
 * the page of the pipeline.
 */
export interface PipelineRow {
  ref: Ref;
  status: Status;
  latest?: string;
  moving: boolean;
  environments: Environment[];
}

/** OverviewChange is what has become of rows since another overview: whole rows that are new or different, and names of those that are gone. */
export interface OverviewChange {
  now: Time;
  verdict: string;
  needs: Need[];
  soon: string[];
  hidden: string[];
  pipelines: PipelineRow[];
  installations: InstallationRow[];
  gonePipelines: Ref[];
  goneInstallations: Ref[];
}

/** Why is the answer to "why is this waiting?", from the object of the page to the cause. */
export interface Why {
  tone: Tone;
  answer: string;
  quote?: string;
  quotedBy?: string;
  chain: Link[];
  next?: string;
  commands: string[];
  holdsUp: Ref[];
  others: string[];
}

/** Link is one step of a chain. */
export interface Link {
  ref: Ref;
  status: Status;
}

/** Installation is the page of an installation and of everything below it. */
export interface Installation {
  now: Time;
  ref: Ref;
  exists: boolean;
  parent?: Ref;
  verdict: string;
  status: Status;
  progress: Progress;
  flow: string;
  /** Component, Version and Blueprint are empty where it has none. */
  component?: string;
  version?: string;
  blueprint?: string;
  why?: Why;
  graph: Graph;
  rows: Row[];
  job?: Job;
  /** Past are the jobs that have ended, the latest first. */
  past: PastJob[];
  actions: Action[];
  events: Event[];
  hidden: string[];
}

/** Row is an object of the tree, in the order of the tree: the table, the waterfall and the drawer have one per object. */
export interface Row {
  id: string;
  ref: Ref;
  depth: number;
  parent?: string;
  /** Title is the name that the object above gives to this one. */
  title: string;
  status: Status;
  waitsFor?: string;
  /** Type is that of a deploy item, Target the name of its target. */
  type?: string;
  target?: string;
  /** Outside says that the blueprint of an installation is outside of the cluster: types and defaults of values have to be asked for. */
  outside?: boolean;
  spans: Span[];
  waitedFor: string[];
  imports: Value[];
  exports: Value[];
  objects: Deployed[];
}

/** Span is a part of a job: waits, init or works. One without an end goes on. */
export interface Span {
  what: string;
  tone: Tone;
  start: Time;
  end?: Time;
}

/** Job is the run that the waterfall shows. */
export interface Job {
  id?: string;
  start?: Time;
  end?: Time;
}

/** PastJob is a job that has ended. */
export interface PastJob {
  id: string;
  status: Status;
  start?: Time;
  end?: Time;
}

/** Value is an import or an export. What it is stands in an object that the page asks for when somebody wants to see it, with his rights. */
export interface Value {
  name: string;
  /** Kind is data, target or targetList; Type is the one of the schema if it is known. */
  kind: string;
  type?: string;
  /** State is there, default, missing or not-written. */
  state: string;
  /** Source is the object that holds it, Giver the row or installation that writes it. */
  source?: Ref;
  giver?: Ref;
  key?: string;
  /** Default is the value of the blueprint, as JSON that may be cut, of an import that nobody has given another one. */
  default?: string;
  /** Reference is the name by which others import an export, Takers are some installations that do, and OtherTakers is how many more. */
  reference?: string;
  takers?: Ref[];
  otherTakers?: number;
  /** Secret says that it is shown only when it is asked for. */
  secret?: boolean;
}

/** Deployed is an object in a target, as the status of a deploy item records it. */
export interface Deployed {
  apiVersion?: string;
  kind: string;
  namespace?: string;
  name: string;
}

/** Live is what a deploy item has in its target cluster now. Message says why it could not be looked at as a whole. */
export interface Live {
  objects: LiveObject[];
  message?: string;
}

/** LiveObject is an object in a target cluster as it is now, with the pods below a workload. */
export interface LiveObject {
  apiVersion?: string;
  kind: string;
  namespace?: string;
  name: string;
  status: Status;
  below: LiveObject[];
}

/** LiveYAML is an object in a target cluster as it is now, and as its deploy item wants it to be, if that is known. Secrets are masked. */
export interface LiveYAML {
  live: string;
  rendered?: string;
  /** Cut says that one of them is too long to be shown as a whole. */
  cut?: boolean;
}

/**
 * Declared is what the blueprint of an installation says of its imports and exports, if that is outside of the cluster. Message says why
 * it is not known.
 */
export interface Declared {
  imports: NamedType[];
  exports: NamedType[];
  /** Defaults are imports that the installation does not provide, and that have a value nevertheless. */
  defaults: Value[];
  message?: string;
}

/** NamedType is the type of an import or export in words; it is empty if the blueprint says no more than that it is data or a target. */
export interface NamedType {
  name: string;
  type?: string;
}

/** Logs are what deployers have said of a deploy item, the oldest line first. Message says where to look if there are none to show. */
export interface Logs {
  lines: LogLine[];
  message?: string;
}

/** LogLine is something that a deployer has said. */
export interface LogLine {
  time?: Time;
  /** Level is info, error or debug. */
  level: string;
  text: string;
}

/**
 * Diff is what the next job of an installation would change of the objects that blueprints make, of its own and of those below. Message
 * says why it is not known, or that nothing would change. Notes say what cannot be known beforehand, and what is left out.
 */
export interface Diff {
  message?: string;
  notes: string[];
  objects: ObjectDiff[];
}

/** ObjectDiff is an object that a job would create, update or delete. */
export interface ObjectDiff {
  ref: Ref;
  title: string;
  /** Within is the path to the nested installation, and to the deploy item with a chart, that makes the object, such as shop/database. */
  within?: string;
  /** Change is create, update or delete. */
  change: string;
  lines: DiffLine[];
}

/** DiffLine is a line of YAML. Op is + for a new one, - for one that goes, and a space for one that stays. */
export interface DiffLine {
  op: string;
  text: string;
}

/** Graph is a drawing. Sizes are in pixels at scale 1; Go has laid it out. */
export interface Graph {
  width: number;
  height: number;
  nodes: Node[];
  edges: Edge[];
}

/** Node is a box of a graph. ID is that of the row it stands for; a ghost is a source that does not exist. */
export interface Node {
  id: string;
  x: number;
  y: number;
  width: number;
  height: number;
  title: string;
  detail?: string;
  status: Status;
  ghost?: boolean;
  /** Group says that it holds the nodes inside of it. */
  group?: boolean;
  /** Kind is import, target, installation, template or export in the graph of a blueprint, where a target is an import, and empty elsewhere. */
  kind?: string;
}

/** Edge is a value that goes from one node to another, or a dependency. Points are those of a path of cubic curves. */
export interface Edge {
  from: string;
  to: string;
  label?: string;
  /** State is there, missing or cut, and empty while the value is still to come. */
  state: string;
  /** Path is the d attribute of an SVG path, and LabelX and LabelY are the middle of the foot of its label. */
  path: string;
  labelX: number;
  labelY: number;
  /** Target says that it is a target and no value. */
  target?: boolean;
}

/** Event is what somebody has said about an object, folded. */
export interface Event {
  time: Time;
  tone: Tone;
  reason: string;
  message: string;
  by?: string;
  about: Ref;
  count: number;
}

/** Pipeline is the page of a pipeline. */
export interface Pipeline {
  now: Time;
  ref: Ref;
  exists: boolean;
  verdict: string;
  status: Status;
  suspended?: boolean;
  environments: Environment[];
  lanes: Lane[];
  actions: Action[];
  events: Event[];
  /** LeadTime is the median from the first environment to the last, in seconds; 0 if no revision has made it yet. */
  leadTime: number;
  hidden: string[];
}

/** Environment is a card of the board, with the gates before it. */
export interface Environment {
  name: string;
  status: Status;
  revision?: string;
  since?: Time;
  progress: Progress;
  targets: TargetCell[];
  gates: Gate[];
  /** Coming is the revision that the gates hold, if there is one, and Request its pull request. */
  coming?: string;
  request?: Request;
  approval?: Consent;
  actions: Action[];
}

/** TargetCell is one target of an environment. */
export interface TargetCell {
  cluster?: string;
  namespace: string;
  revision?: string;
  ready: boolean;
  status: Status;
}

/** Gate is a condition that a promotion has to meet: approval, soak, window, hold, strategy or health. */
export interface Gate {
  kind: string;
  label: string;
  /** not-reached, counting, passed, yours, others, failed or held */
  state: string;
  until?: Time;
  since?: Time;
  detail?: string;
}

/** Consent is an approval that a person is asked for, with what it changes. */
export interface Consent {
  revision: string;
  from?: string;
  since?: Time;
  facts: Fact[];
  changes: FieldShift[];
}

/** Fact is a label and what it says. */
export interface Fact {
  label: string;
  text: string;
}

/** FieldShift is a field that a promotion writes. */
export interface FieldShift {
  object: string;
  field: string;
  before?: string;
  after: string;
}

/** Lane is a revision on its way through the environments. */
export interface Lane {
  revision: string;
  marks: Mark[];
  /** Ended says how: arrived, moving, superseded, failed or rejected. */
  ended: string;
}

/** Mark is where a revision is or was. */
export interface Mark {
  environment: string;
  time?: Time;
  tone: Tone;
  by?: string;
  reason?: string;
  /** Request is the pull request by which it got there, or should have. */
  request?: Request;
}

/** Request is a pull request as the status of the pipeline records it. */
export interface Request {
  /** URL is empty if a browser could not open it, or would run it. */
  url?: string;
  number?: number;
  /** State is open, merged or closed, and empty while it is not known. */
  state?: string;
  /** By is who has merged or closed it, and Time when. */
  by?: string;
  time?: Time;
  /** Checks are there while it is open, if it has any and they are known. */
  checks?: RequestChecks;
}

/** RequestChecks are the checks of the head commit of a pull request. */
export interface RequestChecks {
  /** State is running, passed or failed. */
  state: string;
  /** URL is empty if the Git server has no page about them, or if a browser could not open it. */
  url?: string;
  total: number;
  passed: number;
  failed: number;
  running: number;
  /** FailedNames are some that have failed. */
  failedNames: string[];
}

/** Targets is the page of targets and clusters. */
export interface Targets {
  now: Time;
  verdict: string;
  rows: TargetRow[];
  hidden: string[];
}

/** TargetRow is a Target or a GitopsCluster. Check is what the server has found out about it with the reader's rights, if it was asked to. */
export interface TargetRow {
  ref: Ref;
  type: string;
  status: Status;
  runs: Ref[];
  check?: TargetCheck;
}

/** TargetCheck is what a look at a cluster has shown. Expires is when the first of its certificates and tokens does, Expiring which. */
export interface TargetCheck {
  at: Time;
  reachable: boolean;
  error?: string;
  version?: string;
  expires?: Time;
  expiring?: string;
  milliseconds: number;
}
